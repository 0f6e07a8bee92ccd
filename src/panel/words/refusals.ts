import type { Refusal } from '#domain/refusal.ts'
import { messageOf } from '#http/problems.ts'

/** Where the words of the API speak to programs, people are told the same in theirs. */
const FOR_PEOPLE: Partial<Record<Refusal['refused'], string>> = {
  validation_failed: 'Há campos a corrigir.',
  idempotency_key_reuse: 'Este formulário já foi enviado com outros dados. Abra a página de novo e repita.',
  managed_by_pdv: 'Este registro é mantido por uma venda e não pode ser alterado aqui.',
  duplicate_resource: 'Já existe um registro com este valor.',
}

/** Why something was refused, for the person who tried it. */
export const refusalMessage = ({ refused }: Refusal): string => FOR_PEOPLE[refused] ?? messageOf(refused)
