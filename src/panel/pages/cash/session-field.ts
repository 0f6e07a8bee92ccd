import { listOpenSessionNames } from '#queries/cash/sessions.ts'
import { type Fields, formText } from '../../forms/form.ts'
import { choiceInput } from '../../forms/kinds.ts'
import type { FormSubmission, PageContext } from '../../route.ts'

/** Choice of the open drawer that gives money back; absent without an alternative to `own`, the open one of the sale. */
export async function drawerFields(visit: PageContext | FormSubmission, own: string | null): Promise<Fields> {
  const { readModel } = visit
  const open = await listOpenSessionNames(readModel.reader)
  const others = open.filter((name) => name !== own)
  // A session that was closed after the form was shown is refused, not ignored.
  const isNamed = 'form' in visit && formText(visit.form, 'cash_session_id') !== ''
  if (others.length === 0 && !isNamed) return {}
  const none = own !== null && open.includes(own) ? `Caixa ${own}, o da venda` : 'Fora dos caixas'
  const options = others.map((name) => ({ value: name, label: `Caixa ${name}` }))
  return { cash_session_id: { label: 'De onde sai o dinheiro', kind: choiceInput(options, none), columns: 6 } }
}
