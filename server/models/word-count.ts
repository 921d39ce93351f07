/** Words as tokens: what a scripted model streams and reports. A word keeps the white space after it. */
import type { HistoryItem } from '../session/history.js'
import type { ModelRequest } from '../session/model.js'

/** Cuts a text into pieces of `perPiece` words; joined they are the text again. */
export function toWords(text: string, perPiece: number): readonly string[] {
  if (text === '') return []
  if (perPiece === Number.POSITIVE_INFINITY) return [text]
  const words = text.match(/\s*\S+\s*/g) ?? [text]
  if (perPiece <= 1) return words
  const pieces: string[] = []
  for (let start = 0; start < words.length; start += perPiece) pieces.push(words.slice(start, start + perPiece).join(''))
  return pieces
}

export function promptTokens({ instructions, history }: ModelRequest): number {
  return history.reduce((sum, item) => sum + countItem(item), countWords(instructions))
}

export function completionTokens(...texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countWords(text), 0)
}

function countItem(item: HistoryItem): number {
  const words = countWords(item.text)
  return item.role === 'assistant' ? item.calls.reduce((sum, call) => sum + countWords(JSON.stringify(call.input)) + 1, words) : words
}

/** Without making the words: a long history is counted at every call. */
function countWords(text: string): number {
  let count = 0
  let inWord = false
  for (let index = 0; index < text.length; index += 1) {
    const isSpace = text.charCodeAt(index) <= 32
    if (!isSpace && !inWord) count += 1
    inWord = !isSpace
  }
  return count
}
