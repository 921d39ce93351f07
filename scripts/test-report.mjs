import { readFileSync } from 'node:fs'

/**
 * Counts the tests of vitest's JSON report. What failed without being a test counts as one: a file that could not be loaded, an error
 * outside of any test, a run that left no report.
 * @param {string} path
 * @param {boolean} ok whether the run itself said that it succeeded
 * @returns {{ passed: number, failed: number, skipped: readonly string[] }}
 */
export function countTests(path, ok) {
  const report = read(path)
  if (report === null) return { passed: 0, failed: 1, skipped: [] }
  const unloadable = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  )
  const failed = report.numFailedTests + unloadable.length
  const skipped = report.testResults.flatMap((file) =>
    file.assertionResults.filter((test) => test.status === 'pending' || test.status === 'skipped'),
  )
  return { passed: report.numPassedTests, failed: failed === 0 && !ok ? 1 : failed, skipped: skipped.map((test) => test.fullName) }
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
