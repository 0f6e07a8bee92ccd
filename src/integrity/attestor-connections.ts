import { Agent, buildConnector, type Dispatcher, request } from 'undici'
import { passingInterimAnswers } from '#lib/outbound-connections.ts'

const CONNECT_TIMEOUT_MS = 15_000

const dispatcher = new Agent({ connect: passingInterimAnswers(buildConnector({ timeout: CONNECT_TIMEOUT_MS })) })

type Options = Omit<Dispatcher.RequestOptions, 'origin' | 'path' | 'reset'>

/** Sends a request on a connection that ends with it. */
export const sendRequest = (url: string, options: Options) => request(url, { ...options, reset: true, dispatcher })
