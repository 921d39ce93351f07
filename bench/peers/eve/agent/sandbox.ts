import { defineSandbox } from 'eve/sandbox'
import { JustBashSandbox } from 'eve/sandbox/just-bash'

export const environment = JustBashSandbox.environment()

/** Said, so that it is the same on every machine; no turn of the bench opens it. */
export default defineSandbox(() => environment.open())
