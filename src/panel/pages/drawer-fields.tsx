import { may } from '#domain/rights.ts'
import { type DrawerChoice, listOpenDrawers } from '#queries/cash-queries.ts'
import { choiceInput } from '../forms/input-kinds.ts'
import type { Field, Fields } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext } from '../panel-route.ts'

interface DrawerQuestion extends Pick<Field, 'label' | 'of'> {
  /** Session that the money came into, which gives it back if it is still open. */
  readonly own?: string | null
  /** Whether no other one may give it back. */
  readonly isFixed?: boolean
}

export const GIVING_DRAWER = 'De onde sai o dinheiro'

const OUTSIDE = 'Fora das gavetas'

/** Where the money goes if the person names no drawer. */
function defaultLabel(visit: PageContext, own: string | null, kept: DrawerChoice | undefined): string {
  if (kept) return `${kept.name}, que o recebeu`
  return own === null || may(visit.session.permissions, 'see_all_sales')
    ? OUTSIDE
    : 'A gaveta que o recebeu, se ainda estiver aberta'
}

/** Choice of the open drawer that cash goes into or comes out of; chosen at first is the own one. */
export async function drawerFields(
  visit: PageContext,
  { label, of, own = null, isFixed }: DrawerQuestion,
): Promise<Fields> {
  const { readModel, session } = visit
  const open = await listOpenDrawers(readModel.reader, readModel.timezone)
  const kept = open.find(({ session_id }) => session_id === own)
  const offered = kept && isFixed ? [] : open.filter((drawer) => drawer !== kept)
  const mine = kept ? undefined : offered.find(({ owner }) => owner === session.userId)
  const options = offered.map(({ session_id, name }) => ({ value: session_id, label: name }))
  const kind = choiceInput(options, defaultLabel(visit, own, kept))
  return {
    cash_session_id: {
      ...{ label, columns: 6 },
      kind: { ...kind, show: (value, timezone) => kind.show(value ?? mine?.session_id, timezone) },
      hint: open.length === 0 ? 'Nenhuma gaveta aberta.' : 'Vale só para dinheiro.',
      ...(of && { of }),
    },
  }
}

/** Member of an input: the id of what it moves in a drawer. */
export const newMovement = ({ context: { environment } }: FormSubmission) => ({ movement_id: environment.newId() })
