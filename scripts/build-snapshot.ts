/** Makes the fresh embedded database that new data folders begin with, so that a first start is quick. */
import { buildSnapshot } from '../server/store/snapshot.js'

await buildSnapshot()
