/**
 * Loaded into a process before anything else (`node --import`): its wall clock is off by TEST_CLOCK_SHIFT_MS, as that of a machine whose
 * time nobody keeps. Its monotonic clock, which no wrong setting moves, is left alone.
 */
const RealDate = Date
const now = () => RealDate.now() + Number(process.env.TEST_CLOCK_SHIFT_MS)

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
})
