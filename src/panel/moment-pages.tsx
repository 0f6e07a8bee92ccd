import { formatDateTime } from '#domain/brazilian-format.ts'
import { addMilliseconds } from '#domain/instant.ts'
import { streamOf } from '#ledger/envelope.ts'
import { momentOf } from './page-context.ts'
import type { PageContext, PanelPage, PanelServices } from './route.ts'
import { Nothing } from './ui/parts.tsx'

/** Clocks of browsers may be ahead by this much. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * The page for a moment in `?em=` of which there is nothing to show: after now, or before the first event. Null for any
 * other moment (PANEL-503).
 */
export async function unreachableMoment(visit: PageContext): Promise<PanelPage | null> {
  const { context, session, query, path, readModel } = visit
  const at = momentOf(query.em?.trim() ?? '', readModel.timezone)
  if (!at || !('time' in at)) return null
  const action = { label: 'Ver como é agora', to: path }
  if (at.time > addMilliseconds(session.now, CLOCK_TOLERANCE_MS))
    return {
      title: 'Data no futuro',
      status: 422,
      body: (
        <Nothing title="Esse momento ainda não chegou" action={action}>
          Só é possível ver como era até agora.
        </Nothing>
      ),
    }
  const first = await beginningOf(context, session.companyId)
  if (first === null || at.time >= first) return null
  const begin = formatDateTime(first, readModel.timezone)
  return {
    title: 'Antes do início',
    status: 422,
    body: (
      <Nothing title={`O registro desta empresa começa em ${begin}`} action={action}>
        Antes disso não há nada para mostrar. Escolha uma data a partir desse momento.
      </Nothing>
    ),
  }
}

/** Time of the first event (UTC). */
async function beginningOf({ reads: { store } }: PanelServices, companyId: number): Promise<string | null> {
  for await (const { recorded_at } of store.pick(streamOf(companyId), [0])) return recorded_at
  return null
}

/** Replaces a record at a moment before its creation: shows its title and a link to its present state. */
export const placeholderPage = ({ title, parent }: PanelPage, { path }: PageContext): PanelPage => ({
  title,
  ...(parent && { parent }),
  status: 404,
  body: (
    <Nothing title="Ainda não existia" action={{ label: 'Ver como é agora', to: path }}>
      Nesse momento este cadastro ainda não existia. Veja no histórico quando foi criado.
    </Nothing>
  ),
})
