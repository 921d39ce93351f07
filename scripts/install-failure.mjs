/** What npm prints when it cannot talk to its registry. */
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|E5\d\d)\b/
const REFUSED = /\b(E401|E403|ENEEDAUTH)\b/
const MISSING = /\b(E404|ETARGET|ENOVERSIONS)\b/
const FULL = /\b(ENOSPC)\b/

/**
 * Turns npm's output into one sentence and what to do about it.
 * @param {string} output what npm wrote
 * @param {string} registry where it was told to look
 */
export function explainInstallFailure(output, registry) {
  const unreachable = UNREACHABLE.exec(output)
  if (unreachable) {
    return `The npm registry ${registry} did not answer (${unreachable[0]}), so the dependencies could not be installed.\n→ check the network or \`npm config get registry\`, then run the same command again`
  }
  const refused = REFUSED.exec(output)
  if (refused)
    return `The npm registry ${registry} refused to hand out the dependencies (${refused[0]}).\n→ npm login, or set another registry in .npmrc`
  const missing = MISSING.exec(output)
  if (missing)
    return `The npm registry ${registry} does not have a version that package-lock.json asks for (${missing[0]}).\n${firstErrors(output)}`
  if (FULL.test(output)) return 'The disk is full (ENOSPC): installing the dependencies needs about 600 MB.'
  return `npm ci failed:\n${firstErrors(output)}`
}

function firstErrors(output) {
  return output.split('\n').slice(0, 12).join('\n')
}
