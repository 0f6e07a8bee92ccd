import { z } from 'zod'
import { ID_KINDS } from '#domain/id-kinds.ts'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { single } from '#http/answer.ts'
import { listEvents } from '#queries/events.ts'
import { pageOf, singleOf } from '../contract/envelopes.ts'
import { LedgerEvent, LedgerVerification } from '../contract/records/events.ts'
import { type Route, read } from '../route.ts'
import { pageQuery, QueryRevision } from './list-query.ts'
import { answerPage } from './record-routes.ts'

const scope = 'audit:read'

const SUBJECT = new RegExp(`^(${ID_KINDS.join('|')})/[1-9]\\d{0,14}$`)

/** A record as events name it: `sale/9`. */
export const Subject = z.string().regex(SUBJECT, `deve ser um registro como "sale/9"; tipos: ${ID_KINDS.join(', ')}`)

const isEventType = (name: string): boolean => Object.hasOwn(EVENT_TYPES, name)

/** Names with commas; the order does not matter. */
const EventTypeList = z
  .string()
  .max(2_000)
  .refine((text) => text.split(',').every(isEventType), 'há um tipo de evento desconhecido')
  .transform((text) => [...new Set(text.split(','))].sort())
  .meta({ examples: ['SaleCompleted,SaleCancelled'] })

const EventHash = z.string().regex(/^[0-9a-f]{64}$/, 'deve ser o hash de um evento: 64 dígitos hexadecimais minúsculos')

/** Where a verification goes on: both or neither, or the chain would begin at nothing. */
const VerifyQuery = z
  .strictObject({ after: QueryRevision.optional(), hash: EventHash.optional() })
  .refine(({ after, hash }) => (after === undefined) === (hash === undefined), {
    path: ['hash'],
    message: 'after e hash são informados juntos',
  })

/** The ledger itself, for those who audit it (FEED-1). */
export const eventRoutes: readonly Route[] = [
  read({
    path: '/events',
    scope,
    operation: 'listEvents',
    summary: 'Lista os eventos do livro da empresa',
    description:
      'Na ordem em que foram registrados, tal como foram encadeados por hash, até a revisão em X-Ledger-Revision. Com filtros, uma página pode vir curta, ou vazia, antes da última: o que conta é `has_more`.',
    query: pageQuery({
      after: QueryRevision.optional(),
      types: EventTypeList.optional(),
      subject: Subject.optional(),
    }),
    reply: pageOf(LedgerEvent),
    async read({ pool, store, caller, query }) {
      const page = await listEvents({ pool, store }, caller.companyId, query)
      return answerPage(page, query.limit)
    },
  }),
  read({
    path: '/events/verify',
    scope,
    operation: 'verifyEvents',
    summary: 'Confere o livro da empresa',
    description:
      'Recalcula o hash de cada evento e segue o encadeamento. A conferência está completa quando `revision` alcança X-Ledger-Revision; um livro longo leva mais de uma chamada: continue com `after` e `hash` iguais a `revision` e `hash` da resposta. Enquanto uma corre, outra da mesma empresa recebe 503. O que um selo guardado fora do serviço prova a mais está no guia do auditor.',
    query: VerifyQuery,
    reply: singleOf(LedgerVerification),
    async read({ verifier, caller, query: { after, hash } }) {
      const start = after === undefined || hash === undefined ? null : { revision: after, hash }
      const { verification, head } = await verifier.verify(caller.companyId, start)
      return { body: single(JSON.stringify(verification)), revision: head }
    },
  }),
]
