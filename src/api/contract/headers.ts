import { z } from 'zod'

/** A header as a component, so that the document names it once. */
const header = <T extends z.ZodType>(name: string, description: string, schema: T): T =>
  schema.meta({ header: { id: name, description } })

const requestId = header('X-Request-Id', 'Identifica a chamada; nos erros é igual a `error.request_id`.', z.uuid())

const rate = {
  'X-RateLimit-Limit': header('X-RateLimit-Limit', 'Limite da janela mais próxima de se esgotar.', z.int().min(1)),
  'X-RateLimit-Remaining': header('X-RateLimit-Remaining', 'Chamadas que restam nessa janela.', z.int().min(0)),
  'X-RateLimit-Reset': header('X-RateLimit-Reset', 'Fim dessa janela, em segundos Unix.', z.int().min(0)),
}

const revision = header(
  'X-Ledger-Revision',
  'Revisão do livro da empresa que a resposta mostra: cresce a cada alteração.',
  z.int().min(0),
)

const replayed = header(
  'Idempotent-Replayed',
  'Presente quando a resposta é a que foi guardada sob a mesma Idempotency-Key.',
  z.literal('true').optional(),
)

const retryAfter = header('Retry-After', 'Segundos a esperar antes de repetir a chamada.', z.int().min(1))

const challenge = header('WWW-Authenticate', 'Sempre `Bearer`.', z.literal('Bearer'))

/** Headers of a success. Only a POST can be a replay. */
export const successHeaders = (method: string) =>
  z.object({
    'X-Request-Id': requestId,
    ...rate,
    'X-Ledger-Revision': revision,
    ...(method === 'post' ? { 'Idempotent-Replayed': replayed } : {}),
  })

/** Headers of an error. What fails before the call could be counted shows no limit. */
export const errorHeaders = (status: number) =>
  z.object({
    'X-Request-Id': requestId,
    ...(status < 500 ? rate : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': retryAfter } : {}),
    ...(status === 401 ? { 'WWW-Authenticate': challenge } : {}),
  })
