import type { OpenSession, SessionsOf } from '#access/open-sessions.ts'
import { formatDateTime } from '#domain/brazilian-format.ts'
import { formText } from '../forms/form.ts'
import type { FormSubmission, PageContext, Redirect } from '../route.ts'
import { ButtonForm } from '../ui/form.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, PanelBadge } from '../ui/parts.tsx'

type NamePatterns = readonly (readonly [word: RegExp, name: string])[]

/** The first match counts: browsers also name those they are compatible with. */
const BROWSERS: NamePatterns = [
  [/Edg/, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser/, 'Samsung Internet'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrom|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
]
const SYSTEMS: NamePatterns = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'Mac'],
  [/CrOS/, 'Chromebook'],
  [/Linux/, 'Linux'],
]

/** Readable form of a user agent: `Chrome, Android`. */
function browserName(userAgent: string | null): string {
  const found = [BROWSERS, SYSTEMS].flatMap((named) => named.find(([word]) => word.test(userAgent ?? ''))?.[1] ?? [])
  return found.length === 0 ? 'Navegador desconhecido' : found.join(', ')
}

interface SessionsProps {
  readonly visit: PageContext
  readonly of: SessionsOf
  /** Path of the form below the panel. */
  readonly to: string
  /** Label of the button that ends all other sessions. */
  readonly endAll: string
}

const idOf = ({ session }: Pick<PageContext, 'session'>): string => session.sessionHash.toString('hex')

/** Browsers logged in to this company. */
export async function SessionsCard({ visit, of, to, endAll }: SessionsProps) {
  const sessions = await visit.context.access.sessions.list(of)
  const own = idOf(visit)
  const { timezone } = visit.readModel
  return (
    <Card
      title="Sessões abertas"
      id="sessoes"
      aside={sessions.some(({ id }) => id !== own) && <ButtonForm visit={visit} to={to} label={endAll} isDangerous />}
    >
      <ListTable<OpenSession>
        isList
        caption="Sessões abertas"
        rows={sessions}
        empty="Nenhuma sessão aberta."
        columns={[
          {
            head: 'Navegador',
            cell: ({ id, user_agent }) => (
              <>
                {browserName(user_agent)} {id === own && <PanelBadge tone="good">Esta</PanelBadge>}
              </>
            ),
          },
          { head: 'Desde', cell: ({ created_at }) => formatDateTime(created_at, timezone) },
          { head: 'Último uso', cell: ({ last_seen_at }) => formatDateTime(last_seen_at, timezone) },
          {
            head: 'Encerrar',
            cell: ({ id }) =>
              id !== own && <ButtonForm visit={visit} to={to} label="Encerrar" values={{ sessao: id }} />,
          },
        ]}
      />
    </Card>
  )
}

/** Ends the session in the form, or all others, then redirects to `back`. */
export async function endSessions(submission: FormSubmission, of: SessionsOf, back: string): Promise<Redirect> {
  const { sessions } = submission.context.access
  const id = formText(submission.form, 'sessao')
  await sessions.end(of, id === '' ? { allBut: submission.session.sessionHash } : { id })
  return { to: back, flash: id === '' ? 'sessoes-encerradas' : 'sessao-encerrada' }
}
