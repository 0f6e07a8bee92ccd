import type * as z from 'zod'
import { describeIssues, type RefusalCode } from '#domain/refusals.ts'

/** Error codes of API v1 with HTTP status and Portuguese message (HTTP-15). */
const PROBLEMS = {
  malformed_request: [400, 'A requisição não é HTTP válido.'],
  malformed_json: [400, 'O corpo da requisição não é um JSON válido.'],
  invalid_notification: [400, 'A notificação não é válida para este pedido.'],
  missing_token: [401, 'Informe a chave de API no cabeçalho Authorization: Bearer <chave>.'],
  invalid_token: [401, 'A chave de API é inválida, expirou ou foi revogada.'],
  invalid_signature: [401, 'A assinatura da notificação não confere.'],
  plan_required: [402, 'A conta não tem o adicional de API contratado.'],
  insufficient_scope: [403, 'A chave de API não tem o escopo necessário para esta operação.'],
  amount_limit: [403, 'O valor passa do limite desta chave, por chamada ou por dia: nada foi registrado.'],
  not_test_company: [403, 'Só em uma empresa de teste é possível avançar a data e apagar os dados: nada foi alterado.'],
  owners_only: [403, 'Seu perfil de acesso não permite abrir esta página.'],
  changes_nothing: [403, 'Seu perfil é somente leitura.'],
  permission_required: [403, 'Seu perfil de acesso não permite esta operação.'],
  cross_site_form: [403, 'A sessão mudou ou o formulário é de outra página. Abra a página de novo e repita.'],
  not_found: [404, 'Registro não encontrado.'],
  method_not_allowed: [405, 'Este endereço não aceita o método usado.'],
  request_timeout: [408, 'A requisição não chegou inteira a tempo.'],
  duplicate_resource: [409, 'Já existe um registro com este valor.'],
  idempotency_key_reuse: [409, 'Esta Idempotency-Key já foi usada com outra requisição.'],
  managed_by_pdv: [409, 'Este registro é mantido pelo ponto de venda: pode ser lido, não alterado.'],
  managed_by_order: [409, 'Esta venda é de um pedido pago: estorne o pagamento do pedido para cancelá-la.'],
  fiscal_document_issued: [409, 'A venda tem documento fiscal autorizado.'],
  already_returned: [409, 'Já voltou mais deste item do que resta para devolver.'],
  sale_cancelled: [409, 'A venda está cancelada: não há o que devolver.'],
  sale_returned: [409, 'Esta venda já tem devolução e não pode mais ser cancelada inteira.'],
  already_settled: [409, 'A conta já está quitada.'],
  session_open: [409, 'Esta sessão de caixa já foi aberta.'],
  session_closed: [409, 'Esta sessão de caixa já foi fechada.'],
  return_refused: [409, 'Esta devolução não pode ser registrada como o caixa a fez.'],
  credit_spent: [409, 'O crédito de troca desta devolução já foi usado.'],
  already_reversed: [409, 'Este pagamento já foi estornado.'],
  has_payments: [409, 'A conta já tem pagamentos: estorne-os antes.'],
  goods_returned: [
    409,
    'Mercadoria desta venda já voltou: sem este recebimento, haveria dívida ou dinheiro devolvido por ela.',
  ],
  open_balance: [409, 'Há contas em aberto desta pessoa. Confirme para excluir mesmo assim.'],
  has_variants: [409, 'O item tem variações ativas: exclua-as antes.'],
  order_already_paid: [409, 'O pedido já está pago.'],
  order_not_paid: [409, 'O pedido não está pago, ou não com este pagamento.'],
  person_forgotten: [
    409,
    'Os dados pessoais deste cadastro foram excluídos: ele não pode mais ser alterado nem usado.',
  ],
  retention_required: [
    409,
    'Documentos fiscais, contas em aberto, crédito de troca ou pedidos ainda precisam desta pessoa.',
  ],
  key_limit_reached: [409, 'A empresa já tem vinte chaves de API ativas.'],
  link_limit_reached: [409, 'A empresa já tem 20.000 links ativos: revogue alguns ou espere que vençam.'],
  last_owner: [409, 'A empresa precisa de ao menos um proprietário ativo.'],
  webhook_limit_reached: [409, 'A empresa já tem o máximo de webhooks.'],
  webhook_disabled: [409, 'O webhook está desligado: ligue-o antes.'],
  replay_running: [409, 'Um reenvio deste webhook está em andamento: aguarde o fim e repita.'],
  rotation_running: [
    409,
    'A troca do segredo deste webhook já está em andamento: aguarde o fim ou troque com 0 horas, que encerra os outros segredos já.',
  ],
  webhook_paused: [409, 'O webhook está pausado: a chave dele foi revogada ou venceu, ou falta o adicional de API.'],
  inventory_closed: [409, 'O inventário já foi encerrado: abra outro.'],
  test_data_erased: [
    410,
    'Os dados desta empresa de teste foram apagados depois deste instante: descarte a sua cópia e comece de novo, sem este instante.',
  ],
  precondition_failed: [
    412,
    'O registro mudou depois da leitura, não existe, ou já existe e só podia ser criado (If-None-Match): leia-o de novo e repita com a ETag atual em If-Match.',
  ],
  payload_too_large: [413, 'O corpo da requisição é grande demais.'],
  unsupported_media_type: [415, 'Envie o corpo como application/json em UTF-8.'],
  validation_failed: [422, 'Há campos inválidos ou desconhecidos na requisição.'],
  insufficient_stock: [422, 'Estoque insuficiente: nada foi registrado.'],
  payment_mismatch: [422, 'Os pagamentos não somam o total da venda.'],
  payment_already_used: [422, 'Um pagamento já está em outra venda: nada foi registrado.'],
  payment_refused: [422, 'O provedor de pagamento recusou os dados do pagamento: nada foi cobrado.'],
  refund_refused: [422, 'O provedor de pagamento recusou o estorno: nada foi estornado.'],
  invitation_limit_reached: [429, 'A empresa já enviou convites demais nesta hora. Aguarde e tente de novo.'],
  rate_limited: [429, 'Limite de requisições excedido. Aguarde e tente de novo.'],
  headers_too_large: [431, 'Os cabeçalhos da requisição são grandes demais.'],
  internal_error: [500, 'Erro interno. Informe o request_id ao suporte.'],
  provider_configuration_invalid: [
    500,
    'A configuração do provedor de pagamento desta loja está ausente ou é inválida.',
  ],
  unavailable: [503, 'Serviço temporariamente indisponível. Tente de novo em instantes.'],
} as const satisfies Record<string, readonly [number, string]> & Record<RefusalCode, readonly [number, string]>

export type ProblemCode = keyof typeof PROBLEMS
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[]

export const toHttpStatus = (code: ProblemCode): number => PROBLEMS[code][0]
export const toHttpMessage = (code: ProblemCode): string => PROBLEMS[code][1]

/** Message of a problem; for a duplicate it names the field and the other record, for a return what is due. */
export function formatProblem(code: ProblemCode, details?: Readonly<Record<string, unknown>>): string {
  if (code === 'payment_mismatch' && typeof details?.due === 'string')
    return details.due === details.refunded
      ? `Das formas de devolução, ${details.on_credit} deve ser na forma a prazo da venda: é o valor ainda em aberto.`
      : `As formas de devolução devem somar ${details.due}.`
  if (code !== 'duplicate_resource' || typeof details?.field !== 'string') return toHttpMessage(code)
  const deleted = details.deleted === true ? ', que foi excluído,' : ''
  return `O registro ${details.conflicting_id}${deleted} já tem este valor em ${details.field}.`
}

/** Reasons that refine an error code: the code, and a message that says what to do. */
const REASONS = {
  https_required: [
    'insufficient_scope',
    'A API só atende por HTTPS: repita a chamada com https:// e troque a chave, que passou aberta pela rede.',
  ],
  foreign_origin: ['insufficient_scope', 'A página que fez esta chamada é de outra origem: chame do próprio serviço.'],
  key_in_query: [
    'invalid_token',
    'A chave de API não pode ir na URL, que fica em registros e históricos: envie-a só no cabeçalho Authorization e troque a que foi exposta.',
  ],
  repeated_member: [
    'malformed_json',
    'O corpo tem o mesmo campo duas vezes em um objeto (repeated_member): envie cada campo uma vez.',
  ],
  bytes_used_up: [
    'rate_limited',
    'A empresa já enviou tudo o que pode enviar por dia (bytes): aguarde o dia seguinte, ou envie menos por chamada.',
  ],
  as_of_busy: [
    'unavailable',
    'Já há consultas demais a datas passadas desta empresa. Espere que terminem e tente de novo.',
  ],
  as_of_timeout: [
    'unavailable',
    'A consulta a esta data demorou demais. Tente de novo, com filtros ou uma data mais recente.',
  ],
  share_taken: [
    'unavailable',
    'A sua empresa já tem chamadas demais em andamento (share_taken): espere que terminem e tente de novo, menos de cada vez.',
  ],
  ledger_ahead_of_clock: [
    'unavailable',
    'O relógio do serviço está atrás do último registro desta empresa: nada é gravado até que o operador o corrija.',
  ],
  keys_missing: [
    'unavailable',
    'Faltam chaves com que os dados pessoais desta empresa se abrem (keys_missing): os registros podem ser consultados, mas nada é gravado até que o operador as restaure ou as declare perdidas.',
  ],
  restore_unconfirmed: [
    'unavailable',
    'Os dados do serviço parecem ter sido restaurados de um backup (restore_unconfirmed): nada é gravado até que o operador confirme.',
  ],
  seals_unwritable: [
    'unavailable',
    'O serviço não consegue gravar assinaturas do registro de auditoria agora (seals_unwritable): o que já foi assinado continua disponível. Tente de novo mais tarde.',
  ],
  provider_not_connected: [
    'unavailable',
    'A loja ainda não está ligada a uma conta do provedor de pagamento (provider_not_connected): ligue-a no painel.',
  ],
  provider_unreachable: [
    'unavailable',
    'O provedor de pagamento não respondeu (provider_unreachable). Tente de novo em instantes.',
  ],
  route_not_found: ['not_found', 'Esta rota não existe na API v1 (route_not_found): confira o caminho.'],
} as const satisfies Record<string, readonly [ProblemCode, string]>

export type FailureReason = keyof typeof REASONS

/** An error answer. Thrown by the HTTP layer, never by a command. */
export class Problem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly code: ProblemCode,
    readonly details?: Readonly<Record<string, unknown>>,
    /** Extra headers of the answer, such as Retry-After or Allow. */
    readonly headers: Readonly<Record<string, string>> = {},
    readonly reason: FailureReason | null = null,
  ) {
    super(reason === null ? formatProblem(code, details) : REASONS[reason][1])
  }
}

/** Problem of a specific reason; `details` contain it for programs. */
export const problemOfReason = (reason: FailureReason, headers?: Readonly<Record<string, string>>): Problem =>
  new Problem(REASONS[reason][0], { reason }, headers, reason)

/** Validates what a request sent. @throws Problem (422) that names every invalid field. */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (!result.success) throw new Problem('validation_failed', { ...describeIssues(result.error) })
  return result.data
}

/** `{error: {code, message, details?, request_id}}` */
export function problemBody({ code, message, details }: Problem, requestId: string): string {
  return JSON.stringify({ error: { code, message, ...(details ? { details } : {}), request_id: requestId } })
}
