/** Where the command line writes; handed over by main.ts, so that a test can read it. */
export interface Terminal {
  /** What was asked for: banner, help, results. One call, whole lines. */
  out(text: string): void
  /** What went wrong. */
  err(text: string): void
  /** Colours are wanted: a person looks at it and did not set NO_COLOR. */
  readonly color: boolean
}

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const
export type Style = keyof typeof STYLES

/** `text` in a style, or as it is when the terminal takes no colours. */
export function paint(terminal: Pick<Terminal, 'color'>, style: Style, text: string): string {
  const [on, off] = STYLES[style]
  return terminal.color ? `\u001b[${String(on)}m${text}\u001b[${String(off)}m` : text
}
