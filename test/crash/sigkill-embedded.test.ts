import { sigkillSuite } from './sigkill.js'

sigkillSuite('embedded', () => Promise.resolve(null))
