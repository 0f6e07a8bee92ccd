import type { ProblemCode } from '../../problems.ts'

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
