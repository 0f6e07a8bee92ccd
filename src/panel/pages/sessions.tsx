import type { OpenSession, SessionsOf } from '#access/open-sessions.ts'
import { dateTime } from '../format.ts'
import { textOf } from '../forms/form.ts'
import type { Redirect, Submission, Visit } from '../route.ts'
import { ButtonForm } from '../ui/form.tsx'
import { Table } from '../ui/list.tsx'
import { Badge, Card } from '../ui/parts.tsx'

type Named = readonly (readonly [word: RegExp, name: string])[]

/** The first match counts: browsers also name those they are compatible with. */
const BROWSERS: Named = [
  [/Edg/, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser/, 'Samsung Internet'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrom|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
]
const SYSTEMS: Named = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'Mac'],
  [/CrOS/, 'Chromebook'],
  [/Linux/, 'Linux'],
]

/** Readable form of a user agent: `Chrome, Android`. */
export function browserName(userAgent: string | null): string {
  const found = [BROWSERS, SYSTEMS].flatMap((named) => named.find(([word]) => word.test(userAgent ?? ''))?.[1] ?? [])
  return found.length === 0 ? 'Navegador desconhecido' : found.join(', ')
}

interface SessionsProps {
  readonly visit: Visit
  readonly of: SessionsOf
  /** Path of the form below the panel. */
  readonly to: string
  /** Label of the button that ends all other sessions. */
  readonly endAll: string
}

const idOf = ({ session }: Pick<Visit, 'session'>): string => session.sessionHash.toString('hex')

/** Browsers logged in to this company. */
export async function SessionsCard({ visit, of, to, endAll }: SessionsProps) {
  const sessions = await visit.context.panel.sessions.list(of)
  const own = idOf(visit)
  const { timezone } = visit.readModel
  return (
    <Card
      title="Sessões abertas"
      id="sessoes"
      aside={sessions.some(({ id }) => id !== own) && <ButtonForm visit={visit} to={to} label={endAll} isDangerous />}
    >
      <Table<OpenSession>
        isList
        caption="Sessões abertas"
        rows={sessions}
        empty="Nenhuma sessão aberta."
        columns={[
          {
            head: 'Navegador',
            cell: ({ id, user_agent }) => (
              <>
                {browserName(user_agent)} {id === own && <Badge tone="good">Esta</Badge>}
              </>
            ),
          },
          { head: 'Desde', cell: ({ created_at }) => dateTime(created_at, timezone) },
          { head: 'Último uso', cell: ({ last_seen_at }) => dateTime(last_seen_at, timezone) },
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
export async function endSessions(submission: Submission, of: SessionsOf, back: string): Promise<Redirect> {
  const { sessions } = submission.context.panel
  const id = textOf(submission.form, 'sessao')
  await sessions.end(of, id === '' ? { allBut: submission.session.sessionHash } : { id })
  return { to: back, flash: id === '' ? 'sessoes-encerradas' : 'sessao-encerrada' }
}
