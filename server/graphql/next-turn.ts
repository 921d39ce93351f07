/** Notes a job for the next turn of the event loop. Jobs do not throw. */
export type NextTurn = (job: () => void) => void

/** Jobs run in the order in which they were noted, all of one turn in one go. */
export function createNextTurn(): NextTurn {
  let noted: (() => void)[] = []

  function run(): void {
    const jobs = noted
    noted = []
    for (const job of jobs) job()
  }

  return (job) => {
    if (noted.push(job) === 1) setImmediate(run)
  }
}
