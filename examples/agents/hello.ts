import { defineAgent } from 'perdure'
import { modelOr } from './model.js'

const greet =
  'Hello! I am the smallest agent there is: a name, a model and one line of instructions. I remember what we said, even when I am restarted.'

export const hello = defineAgent({
  name: 'hello',
  description: 'Says hello. The smallest agent there is.',
  model: modelOr(({ userMessages }) => `${greet} This is message ${String(userMessages)} of our conversation.`),
  instructions: 'You greet people warmly and answer in one or two sentences.',
})
