import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { ApiServices, Caller } from '#api/api-route.ts'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import { guidesIn, readGuide } from '#api/docs/guides.tsx'
import { createSubjectFilter } from '#api/v1/event-routes.ts'
import { type AgentTool, toolsOf } from './tools.ts'

interface TextResource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly mimeType: string
  readonly read: () => string
}

export interface Knowledge {
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly contract: TextResource
  readonly guides: readonly TextResource[]
}

export function knowledgeOf(publicUrl: string): Knowledge {
  const document = createContract(V1_ROUTES, publicUrl)
  const text = JSON.stringify(document)
  return {
    tools: toolsOf(document),
    contract: {
      uri: 'tillbook://contract',
      name: 'contract',
      title: 'Contrato da API (OpenAPI)',
      mimeType: 'application/json',
      read: () => text,
    },
    guides: guidesIn('pt-BR').map((name) => ({
      uri: `tillbook://guide/${name}`,
      name: `guide/${name}`,
      title: `Guia: ${name}`,
      mimeType: 'text/markdown',
      read: () => readGuide(name, 'pt-BR'),
    })),
  }
}

export const EVENTS_RESOURCE = {
  uriTemplate: 'tillbook://events{?after}',
  name: 'events',
  title: 'Eventos da empresa',
  description: 'O que aconteceu depois da revisão `after`, na ordem do livro, dos cadastros que a chave lê.',
  mimeType: 'application/json',
}

const [EVENTS_URI, LONGEST_URI] = [/^tillbook:\/\/events(?:\?after=(-1|0|[1-9]\d{0,14}))?$/, 100] as const

/**
 * Events after a revision, as the event stream sends them: sealed, and of the records that the key reads.
 * `meta.next_after` is the cursor of the next page.
 */
export async function readEvents(
  { webhooks: { feed } }: Pick<ApiServices, 'webhooks'>,
  uri: string,
  caller: Caller,
  head: number,
): Promise<string> {
  const found = uri.length > LONGEST_URI ? null : EVENTS_URI.exec(uri)
  if (!found)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Recurso desconhecido: ${uri.slice(0, LONGEST_URI)}`)
  const isReadable = createSubjectFilter(caller)
  const after = Number(found[1] ?? -1)
  const { companyId } = caller
  const { events, seenTo } =
    after < head
      ? await feed.read({ companyId, after, head, opened: null, messages: null })
      : { events: [], seenTo: after }
  const data = events.flatMap(({ subject, frame }) => (frame && isReadable(subject) ? [eventIn(frame)] : []))
  return `{"data":[${data.join(',')}],"meta":{"next_after":${seenTo},"has_more":${seenTo < head}}}`
}

const eventIn = (frame: Buffer): string => frame.toString('utf8', frame.indexOf('{')).trimEnd()
