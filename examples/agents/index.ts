/** The agents that `npm start` serves. Put your own beside them, or point to another folder. */
export { hello } from './hello.js'
export { support } from './support.js'
