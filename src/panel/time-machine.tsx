import { formatDateTimeSeconds } from '#domain/person-values.ts'
import { type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { pickNewest } from '#ledger/port.ts'
import { readModel as model } from '#projections/index.ts'
import { listHistory, maskEvents } from '#queries/event-queries.ts'
import { link } from './page-context.ts'
import type { PageContext } from './panel-route.ts'
import { Card } from './ui/page-parts.tsx'
import { recordsOnPage } from './ui/panel-list.tsx'
import { toSentence } from './words/record-words.ts'

/** Events of a record that a page loads, the first ones; the timeline of the audit has all. */
const SHOWN = 50
const OTHERS = 10

interface StepsOf {
  /** As in events: `sale/9`. */
  readonly subject: string
  /** Records whose events belong to it, as the returns of a sale; of more than `OTHERS` the first ones. */
  readonly others?: readonly string[] | undefined
  /** Single events besides. */
  readonly revisions?: readonly number[]
}

type Step = Envelope

/** The page as it is now, for what came after its moment. */
export const toPresent = (visit: PageContext): PageContext => ({
  ...visit,
  readModel: { ...visit.readModel, reader: visit.primary, moment: null },
})

/** Events of a record as the user sees them now, oldest first; null if the company never had the record. */
export async function loadSteps(
  { context, primary: reader }: Pick<PageContext, 'context' | 'primary'>,
  { subject, others = [], revisions = [] }: StepsOf,
): Promise<{ readonly steps: readonly Step[]; readonly hasMore: boolean } | null> {
  const pageOf = (of: string) => listHistory({ ...context.reads, reader }, of, { limit: SHOWN })
  const page = await pageOf(subject)
  if (!page || isRefusal(page)) return null
  const further = await Promise.all(others.slice(0, OTHERS).map(pageOf))
  const found = [page, ...further].flatMap((each) => (each && !isRefusal(each) ? recordsOnPage<Envelope>(each) : []))
  const reading = { ...context.reads, model }
  for await (const event of pickNewest(reading, streamName(reader.companyId), revisions)) found.push(event)
  const inOrder = found.toSorted((one, other) => one.revision - other.revision)
  const shown = (await maskEvents(reader, inOrder.slice(0, SHOWN + revisions.length))).filter(
    ({ isHidden }) => !isHidden,
  )
  return { steps: shown, hasMore: page.has_more }
}

/** On a page of the past: its events before and after it. */
export async function TimeMachine({ visit, ...of }: StepsOf & { readonly visit: PageContext }) {
  const found = visit.readModel.moment && (await loadSteps(visit, of))
  return found ? (
    <Card title="Máquina do tempo">
      <Slider visit={visit} steps={found.steps} />
    </Card>
  ) : null
}

interface SliderProps {
  readonly visit: PageContext
  readonly steps: readonly Step[]
}

/** Leads from event to event. With scripts it slides, by arrow keys too. */
export const Slider = ({ visit, steps }: SliderProps) => {
  const { moment, timezone } = visit.readModel
  const at = moment === null ? steps.length - 1 : steps.findLastIndex(({ revision }) => revision <= moment.revision)
  if (steps.length < 2 || at < 0) return null
  const wordsOf = (step: Step) => `${formatDateTimeSeconds(step.recorded_at, timezone)} · ${toSentence(step, timezone)}`
  const leadTo = (step: Step | undefined, rel: 'prev' | 'next', words: string) =>
    step && (
      <a href={link(visit.path, { em: step.revision })} rel={rel}>
        {words} <small>{wordsOf(step)}</small>
      </a>
    )
  return (
    <form
      method="get"
      action={link(visit.path)}
      hx-get={link(visit.path)}
      hx-trigger="change"
      hx-select="#conteudo"
      hx-target="#conteudo"
      hx-swap="outerHTML"
      hx-push-url="true"
      hx-sync="this:replace"
    >
      <input type="hidden" name="em" value={steps[at]?.revision} />
      <p role="status">
        <label for="passo">{`Momento ${at + 1} de ${steps.length}`}</label>{' '}
        <strong>{wordsOf(steps[at] as Step)}</strong>
      </p>
      <input
        type="range"
        id="passo"
        hidden
        min="1"
        max={steps.length}
        value={at + 1}
        data-steps={steps.map(({ revision }) => revision).join(' ')}
        aria-valuetext={wordsOf(steps[at] as Step)}
      />
      <nav class="pager" aria-label="Momentos">
        {leadTo(steps[at - 1], 'prev', '« Antes')}
        {leadTo(steps[at + 1], 'next', 'Depois »')}
      </nav>
    </form>
  )
}
