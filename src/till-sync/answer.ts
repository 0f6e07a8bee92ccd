import type { Response } from 'express'
import * as z from 'zod'
import { describeIssues } from '#domain/validation.ts'
import { sendJson } from '#http/answer.ts'
import { Problem } from '#http/problems.ts'

/** Statuses and messages of failures of the sync interface, for cashiers. */
const FAILURES = {
  malformed_request: [400, 'A requisição não é HTTP válido.'],
  missing_token: [401, 'Informe o token de acesso no cabeçalho Authorization: Bearer <token>.'],
  invalid_token: [401, 'Token inválido ou expirado. Faça login novamente.'],
  wrong_credentials: [401, 'E-mail ou senha incorretos.'],
  https_required: [403, 'A sincronização só atende por HTTPS.'],
  not_found: [404, 'Rota não encontrada.'],
  method_not_allowed: [405, 'Esta rota não aceita o método usado.'],
  request_timeout: [408, 'A requisição não chegou inteira a tempo.'],
  payload_too_large: [413, 'O corpo da requisição é grande demais.'],
  unsupported_media_type: [415, 'Envie o corpo como application/json em UTF-8.'],
  malformed_json: [422, 'O corpo da requisição não é um JSON válido.'],
  repeated_member: [422, 'O corpo da requisição tem o mesmo campo duas vezes em um objeto.'],
  company_required: [422, 'Informe em company_id uma das empresas deste usuário.'],
  validation_failed: [422, 'Há dados inválidos na requisição.'],
  rate_limited: [429, 'Muitas requisições. Aguarde e tente novamente.'],
  bytes_used_up: [429, 'A empresa já enviou todos os dados que pode enviar hoje. Guarde as vendas e envie amanhã.'],
  too_many_logins: [429, 'Muitas tentativas de login. Aguarde e tente novamente.'],
  internal_error: [500, 'Erro interno. Informe ao suporte o X-Request-Id desta resposta.'],
  share_taken: [503, 'Há envios demais desta empresa em andamento. Aguarde e tente novamente.'],
  unavailable: [503, 'Serviço temporariamente indisponível. Tente novamente em instantes.'],
} as const satisfies Record<string, readonly [number, string]>

export type FailureCode = keyof typeof FAILURES

export const failureStatus = (code: FailureCode): number => FAILURES[code][0]
export const failureMessage = (code: FailureCode): string => FAILURES[code][1]

/** Failure code of a problem. Problems that only API v1 knows must not occur here. */
const failureOf = ({ code, reason }: Problem): FailureCode =>
  ([reason, code].find((name) => name !== null && name in FAILURES) as FailureCode | undefined) ?? 'internal_error'

/** Entry of an oversized body in `errors`. */
const tooLarge = (limitBytes: number) => ({ body: [`deve ter no máximo ${limitBytes} bytes`] })

/** Messages of successes. */
export const LOGGED_IN = 'Login realizado com sucesso.'
export const TOKEN_RENEWED = 'Token renovado com sucesso.'
export const LOGGED_OUT = 'Logout realizado com sucesso.'

/** Messages by field, for the developer of the till. */
type FieldErrors = Readonly<Record<string, readonly string[]>>

/** Sends `{"success":true, …}`. */
export function sendSuccess(response: Response, rest: object): void {
  sendJson(response, 200, JSON.stringify({ success: true, ...rest }))
}

interface FailureRest {
  readonly errors?: FieldErrors | undefined
  readonly data?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends `{success: false, message, errors?, data?}` (TOKEN-20). */
export function sendFailure(
  response: Response,
  code: FailureCode,
  { errors, data, headers = {} }: FailureRest = {},
): void {
  const status = failureStatus(code)
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const body = { success: false, message: failureMessage(code), ...(errors && { errors }), ...(data && { data }) }
  sendJson(response, status, JSON.stringify(body))
}

/** Sends a thrown problem in the shape of this interface. */
export function answerSyncProblem(response: Response, problem: Problem): void {
  sendFailure(response, failureOf(problem), { errors: errorsIn(problem.details), headers: problem.headers })
}

function errorsIn(details: Problem['details']): FieldErrors | undefined {
  if (typeof details?.limit_bytes === 'number') return tooLarge(details.limit_bytes)
  return details?.fields as FieldErrors | undefined
}

/** Validation of a list stops after this number of invalid elements; an answer names no more fields. */
const MOST_WRONG = 100

/** Validates the elements of a long list in slices; `name` is the list's field in the body. @throws Problem (422) */
export async function parseEach<T>(
  schema: z.ZodType<T>,
  name: string,
  elements: readonly unknown[],
  slices: () => Promise<void>,
): Promise<T[]> {
  const parsed: T[] = []
  const wrong: z.core.$ZodIssue[][] = []
  for (const [position, element] of elements.entries()) {
    await slices()
    const result = schema.safeParse(element)
    if (result.success) parsed.push(result.data)
    else wrong.push(result.error.issues.map((issue) => ({ ...issue, path: [name, position, ...issue.path] })))
    if (wrong.length === MOST_WRONG) break
  }
  if (wrong.length === 0) return parsed
  throw new Problem('validation_failed', { ...describeIssues(new z.ZodError(wrong.flat())) })
}
