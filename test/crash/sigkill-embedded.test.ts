import { sigkillSuite } from './sigkill.js'

sigkillSuite('embedded')
