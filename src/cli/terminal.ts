/** Formats a record with one line per member, or a list with one line per record. */
export function formatAsText(result: object): string {
  if (!Array.isArray(result)) return columns(Object.entries(result).map(([name, value]) => [name, textOf(value)]))
  const [first] = result as object[]
  if (!first) return '(none)'
  // The first record may lack optional members.
  const names = [...new Set(result.flatMap((record: object) => Object.keys(record)))]
  const rows = result.map((record: Record<string, unknown>) => names.map((name) => textOf(record[name])))
  return columns([names, ...rows])
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function columns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** State of a long step of a command. */
export interface ProgressState {
  /** What is counted: `events`. */
  readonly unit: string
  readonly done: number
  /** Null if unknown. */
  readonly total: number | null
  readonly elapsed_ms: number
}

const SECOND_MS = 1_000

/** `events: 120,000 of 1,000,000 (12 %), 8,400 a second, 1 min 45 s left`. */
export function formatProgress({ unit, done, total, elapsed_ms }: ProgressState): string {
  const rate = elapsed_ms > 0 ? (done * SECOND_MS) / elapsed_ms : 0
  const parts = [`${unit}: ${groupDigits(done)}`, `${groupDigits(rate)} a second`]
  if (total === null) return parts.join(', ')
  // Events that arrive meanwhile are done too.
  const all = Math.max(done, total)
  parts[0] += ` of ${groupDigits(all)} (${all === 0 ? 100 : Math.floor((done / all) * 100)} %)`
  if (rate > 0) parts.push(`${formatDuration(((all - done) * SECOND_MS) / rate)} left`)
  return parts.join(', ')
}

/** A total with the time that it takes at a rate per second. */
export const formatEstimate = (unit: string, total: number, rate: number): string =>
  `${unit}: ${groupDigits(total)}, about ${formatDuration((total * SECOND_MS) / rate)} at an estimated ${groupDigits(rate)} a second`

/** A whole number, in English as all output of commands: `1,000,000`. */
const groupDigits = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')

/** The two largest units: `45 s`, `1 min 45 s`, `2 h 5 min`. */
function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / SECOND_MS)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Shows the progress of a command, one step after another. */
export interface Progress {
  /** Begins a step. `rate` per second estimates its time beforehand. */
  begin(unit: string, total: number | null, rate?: number): void
  /** Counts finished work. */
  add(count: number): void
  /** Prints a line of text above the progress. */
  tell(line: string): void
  /** Ends the step. */
  end(): void
}

interface ProgressOptions {
  readonly stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
  /** False for JSON output: only `tell` prints. */
  readonly isShown: boolean
  /** Monotonic, in ms. */
  readonly clock: () => number
}

/** Time before a step shows anything: shorter steps need no progress. */
const SILENT_MS = 2_000
/** Interval of a line that replaces the one before, and of lines that stay. */
const EVERY_MS = { terminal: 250, file: 10_000 }
const ERASE_LINE = '\r\u001b[K'

/** One line that changes on a terminal; elsewhere a line now and then. */
export function createProgress({ stream, isShown, clock }: ProgressOptions): Progress {
  const isTerminal = stream.isTTY === true
  let step: { readonly unit: string; readonly total: number | null; readonly since: number } | null = null
  let done = 0
  let nextAt = 0
  let isDrawn = false
  const draw = () => {
    if (!step) return
    const line = formatProgress({ ...step, done, elapsed_ms: clock() - step.since })
    stream.write(isTerminal ? `${ERASE_LINE}${line}` : `${line}\n`)
    isDrawn = true
  }
  const progress: Progress = {
    begin(unit, total, rate) {
      progress.end()
      step = { unit, total, since: clock() }
      done = 0
      nextAt = step.since + SILENT_MS
      if (isShown && rate && total !== null && (total * SECOND_MS) / rate > SILENT_MS)
        progress.tell(formatEstimate(unit, total, rate))
    },
    add(count) {
      done += count
      if (!isShown || clock() < nextAt) return
      nextAt = clock() + EVERY_MS[isTerminal ? 'terminal' : 'file']
      draw()
    },
    tell(line) {
      stream.write(isTerminal && isDrawn ? `${ERASE_LINE}${line}\n` : `${line}\n`)
    },
    end() {
      // The last line has the totals.
      if (isDrawn) draw()
      if (isDrawn && isTerminal) stream.write('\n')
      isDrawn = false
      step = null
    },
  }
  return progress
}
