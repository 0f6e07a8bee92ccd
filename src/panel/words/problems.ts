import { messageOf, type ProblemCode } from '#http/problems.ts'

const TITLES: Partial<Record<ProblemCode, string>> = {
  not_found: 'Página não encontrada',
  owners_only: 'Sem permissão',
  cross_site_form: 'Formulário recusado',
  validation_failed: 'Não foi possível mostrar',
  https_required: 'Use HTTPS',
  unavailable: 'Serviço indisponível',
  internal_error: 'Algo deu errado',
}

/** The heading of the page that tells of a problem. */
export const problemTitle = (code: ProblemCode): string => TITLES[code] ?? 'Não foi possível concluir'

/** Where the words of the API speak to programs, people are told the same in theirs. */
const FOR_PEOPLE: Partial<Record<ProblemCode, string>> = {
  not_found: 'Este endereço não leva a nada, ou o registro não existe mais.',
  https_required: 'O painel só atende por HTTPS.',
  malformed_json: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  unsupported_media_type: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  payload_too_large: 'O formulário é grande demais: encurte os textos e repita.',
  internal_error: 'Algo falhou aqui. Tente de novo; se continuar, informe o código abaixo ao suporte.',
}

/** What went wrong, for the person in front of it. */
export const problemMessage = (code: ProblemCode): string => FOR_PEOPLE[code] ?? messageOf(code)
