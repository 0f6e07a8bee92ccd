import { formatMoney } from '#domain/brazilian-format.ts'
import type { Permission } from '#domain/permissions.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type FailureReason, httpMessageOf, type Problem, type ProblemCode } from '#http/problems.ts'
import { permissionPhrase } from './permissions.ts'

const TITLES: Partial<Record<ProblemCode | FailureReason, string>> = {
  not_found: 'Página não encontrada',
  owners_only: 'Sem permissão',
  changes_nothing: 'Sem permissão',
  cross_site_form: 'Formulário recusado',
  validation_failed: 'Não foi possível mostrar',
  https_required: 'Use HTTPS',
  rate_limited: 'Acessos demais',
  share_taken: 'Acessos demais',
  unavailable: 'Serviço indisponível',
  internal_error: 'Algo deu errado',
}

export const problemTitle = ({ code, reason }: Problem): string => TITLES[reason ?? code] ?? 'Não foi possível concluir'

/** Replacements for API messages that are written for programs. */
const PROBLEM_TEXTS: Partial<Record<ProblemCode | FailureReason, string>> = {
  not_found: 'Página não encontrada ou registro excluído.',
  https_required: 'O painel só funciona por HTTPS.',
  malformed_json: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  unsupported_media_type: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  payload_too_large: 'O formulário é grande demais: encurte os textos e repita.',
  share_taken: 'Há páginas demais abertas ao mesmo tempo. Nada foi salvo: aguarde um instante e tente de novo.',
  internal_error: 'Algo deu errado. Tente de novo; se continuar, informe o código abaixo ao suporte.',
}

export const problemMessage = ({ code, reason, message, headers }: Problem): string =>
  code === 'rate_limited' && reason === null
    ? `Muitos acessos em um minuto: nada foi salvo. Tente de novo em ${waitOf(headers)}.`
    : (PROBLEM_TEXTS[reason ?? code] ?? message)

function waitOf({ 'Retry-After': seconds = '60' }: Problem['headers']): string {
  return seconds === '1' ? '1 segundo' : `${seconds} segundos`
}

const REFUSAL_TEXTS: Partial<Record<Refusal['refused'], string>> = {
  invalid_token: 'Sua sessão expirou e nada foi salvo. Entre de novo.',
  validation_failed: 'Há campos a corrigir.',
  idempotency_key_reuse: 'Este formulário já foi enviado com outros dados. Abra a página de novo e repita.',
  managed_by_pdv: 'Este registro é mantido por uma venda e não pode ser alterado aqui.',
  person_forgotten: 'Os dados pessoais deste cadastro foram excluídos: ele não pode mais ser alterado.',
  duplicate_resource: 'Já existe um cadastro com este valor.',
}

export const refusalMessage = ({ refused, details }: Refusal): string =>
  refused === 'permission_required' ? lackingText(details) : (REFUSAL_TEXTS[refused] ?? httpMessageOf(refused))

/** The permission that a user lacks, or the limit that the operation exceeds. */
function lackingText({ permission, limit }: Refusal['details'] = {}): string {
  const name = permissionPhrase(permission as Permission)
  const lacking =
    typeof limit === 'string'
      ? `Seu perfil de acesso tem o limite de ${formatMoney(limit)}, por registro e por dia, para ${name}.`
      : `Seu perfil de acesso não permite ${name}.`
  return `${lacking} Peça autorização a um responsável.`
}
