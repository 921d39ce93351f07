/**
 * The name of a call as providers accept it back: `[a-zA-Z0-9_-]{1,64}`. A model may make up any name; sent back as it is, one that
 * a provider refuses would fail every later call of the session.
 */
export function toCallName(name: string): string {
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return safe === '' ? 'unnamed' : safe
}
