import { sigkillSuite } from './sigkill.js'

sigkillSuite('postgres')
