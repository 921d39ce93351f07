import { sigkillSuite } from './sigkill.js'

sigkillSuite('embedded', async () => ({ databaseUrl: null, redis: null, remove: async () => undefined }))
