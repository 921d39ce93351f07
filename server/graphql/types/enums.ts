/** The enumerations of what is stored, each value explained. The database has the same ones. */
import type * as stored from '../../generated/prisma/enums.js'
import type { ApprovalDecision as Decision } from '../../session/requests.js'
import { builder } from '../builder.js'

type Explained<Value extends string> = { readonly [Each in Value]: { readonly description: string } }

export const PrincipalKind = builder.enumType('PrincipalKind', {
  description: 'What sort of caller this is.',
  values: {
    USER: { description: 'A person.' },
    SERVICE: { description: 'A program with credentials of its own.' },
    SYSTEM: { description: 'Perdure itself, e.g. a schedule.' },
    ANONYMOUS: { description: 'Somebody unknown; two anonymous callers are never taken for the same one.' },
  } satisfies Explained<stored.PrincipalKind>,
})

export const SessionMode = builder.enumType('SessionMode', {
  description: 'How long a session lasts.',
  values: {
    CONVERSATION: { description: 'Until it is ended; any number of turns.' },
    TASK: { description: 'One turn; its end is the end of the session.' },
  } satisfies Explained<stored.SessionMode>,
})

export const SessionStatus = builder.enumType('SessionStatus', {
  description: 'Where a session stands.',
  values: {
    CREATED: { description: 'Parked before its first turn.' },
    RUNNING: { description: 'A turn is open, or will be as soon as a worker has it; from the moment a message is accepted.' },
    IDLE: { description: 'Parked between turns.' },
    WAITING_FOR_INPUT: { description: 'The open turn waits for an answer to a question.' },
    WAITING_FOR_APPROVAL: { description: 'The open turn waits for somebody to allow a tool call.' },
    WAITING_FOR_AUTHORIZATION: { description: 'The open turn waits for a sign-in.' },
    WAITING_FOR_TASKS: { description: 'The open turn waits for other sessions or for a timer only.' },
    HIBERNATED: { description: 'Parked, with its sandbox asleep.' },
    COMPLETED: { description: 'Ended, while no turn was open.' },
    FAILED: { description: 'Ended by a fault that no later message could mend.' },
    CANCELLED: { description: 'Ended while a turn was open.' },
  } satisfies Explained<stored.SessionStatus>,
})

export const SessionEndReason = builder.enumType('SessionEndReason', {
  description: 'Why a session ended.',
  values: {
    ENDED: { description: 'Somebody ended it.' },
    TIMEOUT: { description: 'It was idle for too long.' },
    TASK_FINISHED: { description: 'The one turn of a task was over.' },
    STRANDED: { description: 'No deployment could read it any more.' },
    FAULT: { description: 'A fault that no later message could mend.' },
    PARENT_ENDED: { description: 'The session that opened it ended.' },
  } satisfies Explained<stored.SessionEndReason>,
})

export const TurnStatus = builder.enumType('TurnStatus', {
  description: 'Where a turn stands.',
  values: {
    RUNNING: { description: 'Something of it runs.' },
    WAITING: { description: 'Open, and nothing of it runs: it waits for a person, a task or a timer.' },
    COMPLETED: { description: 'The agent has answered.' },
    FAILED: { description: 'It ended with an error; the session goes on.' },
    CANCELLED: { description: 'Somebody stopped it.' },
  } satisfies Explained<stored.TurnStatus>,
})

export const TurnTrigger = builder.enumType('TurnTrigger', {
  description: 'What started a turn.',
  values: {
    MESSAGE: { description: 'One or more messages.' },
    HISTORY: { description: 'An imported conversation that ended with the user.' },
    SCHEDULE: { description: 'A schedule.' },
    TASK: { description: 'A task that was settled.' },
    PARENT: { description: 'Another session that called this agent.' },
  } satisfies Explained<stored.TurnTrigger>,
})

export const StepStatus = builder.enumType('StepStatus', {
  description: 'Where a step stands.',
  values: {
    RUNNING: { description: 'The model is called, or its tool calls run.' },
    COMPLETED: { description: 'The model has answered, and every call it asked for has a result.' },
    FAILED: { description: 'The model could not be reached, or refused; retries are used up.' },
    INTERRUPTED: { description: 'Stopped before it had an outcome.' },
  } satisfies Explained<stored.StepStatus>,
})

export const FinishReason = builder.enumType('FinishReason', {
  description: 'Why the model stopped writing.',
  values: {
    STOP: { description: 'It was done.' },
    TOOL_CALLS: { description: 'It asked for tools.' },
    LENGTH: { description: 'It reached its limit of tokens.' },
    CONTENT_FILTER: { description: "The provider's filter cut it off." },
    REFUSAL: { description: 'It refused.' },
    OTHER: { description: 'A reason that only the provider knows.' },
  } satisfies Explained<stored.FinishReason>,
})

export const ToolCallStatus = builder.enumType('ToolCallStatus', {
  description: 'Where a tool call stands. It is started at most once, and ends exactly once.',
  values: {
    REQUESTED: { description: 'The model asked for it; it has not started.' },
    WAITING_FOR_APPROVAL: { description: 'It waits for somebody to allow it.' },
    RUNNING: { description: 'Its code runs.' },
    WAITING: { description: 'It waits for a person, a task or a timer.' },
    COMPLETED: { description: 'It gave a result.' },
    FAILED: { description: 'It gave an error; the model reads it.' },
    DENIED: { description: 'Somebody, or a rule, did not allow it.' },
    CANCELLED: { description: 'Stopped by a cancel or the end of the turn.' },
    ABANDONED: { description: 'It was running when its worker was lost, and may have taken effect; it is not run again.' },
  } satisfies Explained<stored.ToolCallStatus>,
})

export const DeliveryKind = builder.enumType('DeliveryKind', {
  description: 'What was handed to a session.',
  values: {
    MESSAGE: { description: 'A message to the agent.' },
    ANSWERS: { description: 'Answers to what the session asked.' },
    CLEAR: { description: "Empties the model's history." },
    COMPACT: { description: "Summarises the model's history." },
    CANCEL: { description: 'Stops the running turn.' },
    END: { description: 'Ends the session.' },
  } satisfies Explained<stored.DeliveryKind>,
})

export const DeliveryStatus = builder.enumType('DeliveryStatus', {
  description: 'What became of a delivery. Every one is settled once.',
  values: {
    ACCEPTED: { description: 'Durable, and not yet acted on.' },
    APPLIED: { description: 'It has taken effect.' },
    REJECTED: { description: 'It will have no effect; the rejection says why.' },
  } satisfies Explained<stored.DeliveryStatus>,
})

export const TurnPolicy = builder.enumType('TurnPolicy', {
  description: 'What a message does while a turn is open.',
  values: {
    STEER: {
      description: 'Joins the open turn as soon as it can, if its sender is the one whom the turn serves; anybody else waits for its end.',
    },
    QUEUE: { description: 'Waits for the end of the open turn, then starts the next.' },
  } satisfies Explained<stored.TurnPolicy>,
})

export const InputRequestKind = builder.enumType('InputRequestKind', {
  description: 'What a session can ask of a person.',
  values: {
    APPROVAL: { description: 'Whether a tool call may run.' },
    QUESTION: { description: 'What the agent wants to know.' },
    AUTHORIZATION: { description: 'To sign in somewhere.' },
    LIMIT: { description: 'Whether to go on over a budget.' },
  } satisfies Explained<stored.RequestKind>,
})

export const InputRequestStatus = builder.enumType('InputRequestStatus', {
  description: 'Where a request stands. It is settled once.',
  values: {
    PENDING: { description: 'It can be answered.' },
    ANSWERED: { description: 'An answer was accepted; later ones are refused.' },
    CANCELLED: { description: 'It was withdrawn: what it asked for is not wanted any more.' },
    EXPIRED: { description: 'Nobody answered in time.' },
  } satisfies Explained<stored.RequestStatus>,
})

export const ApprovalDecision = builder.enumType('ApprovalDecision', {
  description: 'What somebody says to a tool call.',
  values: {
    APPROVE: { description: 'It runs, exactly as it was shown.' },
    DENY: { description: 'It does not run; the model reads why.' },
  } satisfies Explained<Decision>,
})
