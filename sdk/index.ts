/** @perdure/sdk: talk to agent sessions of a Perdure server from anywhere that has `fetch`. */
export {
  createClient,
  type Agent,
  type AgentInfo,
  type Agents,
  type Client,
  type ClientOptions,
  type CreatedSession,
  type GraphqlOptions,
  type ListSessionsOptions,
  type NewSession,
  type SendToAgentOptions,
  type Sessions,
} from './client.js'
export type { ActOptions, Actor, CallOptions, DeliverOptions, DeliveryReceipt } from './delivery.js'
export type { TypedDocument } from './document.js'
export {
  AddressTakenError,
  ForbiddenError,
  GraphqlRequestError,
  IdempotencyMismatchError,
  InvalidInputError,
  LimitExceededError,
  NetworkError,
  NotFoundError,
  PerdureError,
  ProblemError,
  RequestNotPendingError,
  SessionEndedError,
  SessionStrandedError,
  TimeoutError,
  UnauthenticatedError,
  type GraphqlErrorInfo,
  type ProblemCode,
} from './errors.js'
export type { EventBatch, EventStreamOptions } from './event-stream.js'
export { FAILURE_CODES, isFailureCode, type FailureCode } from './failure-codes.js'
export type { FollowMessagesOptions } from './follow-messages.js'
export type { Acceptance } from './follow-turn.js'
export type { SessionEventType, SessionFilter, SessionStatus, TurnPolicy, TurnStatus } from './generated/operations.js'
export type * from './generated/session-events.js'
export type { InputRequest, InputRequestInfo, Reply, ReplyOptions } from './input-request.js'
export type { InputRequestFilter, InputRequests, InputRequestsOptions, ListInputRequestsOptions } from './input-requests.js'
export type { AskedRequest, AssistantMessage, Message, MessagePart, TextPart, ToolPart, UserMessage, WaitingStatus } from './message.js'
export { initialMessages, MESSAGE_EVENT_TYPES, reduceMessages, toMessages, type MessagesState, type TurnState } from './messages.js'
export type { Page, Pages } from './pages.js'
export type { ConnectOptions, Reconnect } from './reconnect.js'
export type { Answer, AnswerValue, RespondOptions } from './respond.js'
export type { OutgoingMessage, SendOptions, Session, SessionInfo, TranscriptMessage, TurnInfo } from './session.js'
export type { HeadersSource } from './transport.js'
export type { ResultOptions, TurnHandle, TurnResult } from './turn.js'
