import { expect, test } from 'vitest'
import { createLogger, type LoggerOptions } from '../server/logger.js'

function captured(options: Omit<LoggerOptions, 'write'>) {
  const lines: string[] = []
  return { log: createLogger({ ...options, write: (line) => lines.push(line) }), lines }
}

test('json: one object a line, with its time, level and fields', () => {
  const { log, lines } = captured({ level: 'info', format: 'json' })
  log.with({ sessionId: 'ses_1' }).warn('slow', { ms: 12 })
  expect(lines).toHaveLength(1)
  expect(lines[0]?.endsWith('\n')).toBe(true)
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  expect(Number.isNaN(Date.parse(time))).toBe(false)
  expect(rest).toEqual({ level: 'warn', sessionId: 'ses_1', ms: 12, msg: 'slow' })
})

test('below its level nothing is written', () => {
  const { log, lines } = captured({ level: 'warn', format: 'json' })
  log.debug('quiet')
  log.info('quiet')
  expect(lines).toEqual([])
})

test('secrets stay out, also one level down', () => {
  const { log, lines } = captured({ level: 'info', format: 'json' })
  log.info('asked', { apiKey: 'sk-1', headers: { authorization: 'Bearer sk-2', accept: 'text' } })
  expect(lines[0]).not.toMatch(/sk-[12]/)
  expect(lines[0]).toContain('"accept":"text"')
})

test('text: a line for a person, the stack of an error below it', () => {
  const { log, lines } = captured({ level: 'info', format: 'text' })
  log.error('commit failed', { err: new Error('gone'), sessionId: 'ses_1', tries: 2 })
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d ERROR commit failed sessionId=ses_1 tries=2\nError: gone\n\s+at /)
})
