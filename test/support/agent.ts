import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { MCP } from '#mcp/mcp.ts'
import { type Json, send, type TestApi } from './api.ts'

/** A client of the SDK, connected with a key. */
export async function connectAgent({ url }: Pick<TestApi, 'url'>, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}${MCP}`), { requestInit }))
  return client
}

const ACCEPT = 'application/json, text/event-stream'

/** One message of the protocol of 2025, without a session. */
export const sendMessage = (
  { url }: Pick<TestApi, 'url'>,
  key: string | null,
  message: Json,
  headers: Record<string, string> = {},
) =>
  send(`${url}${MCP}`, 'POST', message, {
    accept: ACCEPT,
    ...(key !== null && { authorization: `Bearer ${key}` }),
    ...headers,
  })

/** Result of a tool, or the error of the protocol. */
export async function callTool(api: Pick<TestApi, 'url'>, key: string, name: string, given: object): Promise<Json> {
  const { status, text } = await sendMessage(api, key, {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: given },
  })
  if (status !== 200) throw new Error(`${name} answered ${status}: ${text}`)
  const { result, error } = JSON.parse(text.startsWith('{') ? text : text.slice(text.indexOf('{')))
  return result ?? { protocolError: error }
}
