import type { Fault } from '#audit/walk.ts'

/** How it shows that a ledger is not what was written. */
export const FAULTS: Readonly<Record<Fault, string>> = {
  malformed: 'O evento guardado não pode ser lido.',
  wrong_stream: 'O evento é do livro de outra empresa.',
  wrong_revision: 'Falta um evento, ou há um a mais, ou a ordem foi trocada.',
  wrong_hash: 'O conteúdo do evento foi alterado.',
  broken_chain: 'O evento não segue o anterior: um dos dois foi trocado.',
  time_goes_back: 'O evento é mais antigo do que o anterior.',
  columns_differ: 'O que o banco guarda ao lado do evento não confere com ele.',
  other_hash: 'O hash não é o que já se conhecia para esta revisão.',
  truncated: 'O fim do livro foi cortado.',
  beyond_head: 'Há eventos depois do último que o serviço registrou.',
}
