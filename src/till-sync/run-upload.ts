import type { Response } from 'express'
import type { SyncSession } from '#access/sync-access.ts'
import type { Refusal, RefusalCode } from '#domain/refusal.ts'
import { Problem } from '#http/problems.ts'
import { type Invocation, isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
import { runList } from '#ledger/write/run.ts'
import { isFaultOfRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { Services } from '#services.ts'
import { uploaderOf } from './list-answer.ts'

/** An element that is not recorded: a refusal, or an unexpected fault of the service. */
export interface NotRecorded {
  readonly refused: RefusalCode | 'internal_error'
  readonly details?: Refusal['details']
}

export type ElementResult = Exclude<CommandResult, Refusal> | NotRecorded

export const isNotRecorded = (result: ElementResult): result is NotRecorded => 'refused' in result

/** Lines in one unit of work. More are no faster and delay other requests. */
const PORTION_LINES = 1_000

/** Lines that weigh as one command in a group commit (queue.ts). */
const LINES_OF_A_COMMAND = 32

export type UploadServices = Pick<Services, 'writer' | 'log'>

/** An uploading till, and what runs its commands. */
export interface Uploading extends UploadServices {
  readonly session: SyncSession
  readonly response: Response
}

/**
 * Reads and runs each element of an upload on its own; results in their order. An unexpected fault of one is its result,
 * and the others are recorded (UP-760).
 */
export async function runUpload(
  uploading: Uploading,
  sent: readonly unknown[],
  read: (element: unknown) => Invocation | Refusal,
): Promise<ElementResult[]> {
  const elements = await readEach(uploading, sent, read)
  const invocations = elements.flatMap((each) => ('command' in each ? [each] : []))
  const done: ElementResult[] = []
  for (const portion of portionsOf(invocations)) done.push(...(await runPortion(uploading, portion)))
  let next = 0
  return elements.map((each) => ('command' in each ? (done[next++] as ElementResult) : each))
}

async function readEach(
  uploading: Uploading,
  sent: readonly unknown[],
  read: (element: unknown) => Invocation | Refusal,
): Promise<(Invocation | NotRecorded)[]> {
  const slices = createTimeSlicer(uploading.session.companyId)
  const elements: (Invocation | NotRecorded)[] = []
  for (const [position, element] of sent.entries()) {
    if (position > 0) await slices()
    try {
      elements.push(read(element))
    } catch (error) {
      elements.push(fault(uploading, error))
    }
  }
  return elements
}

function fault({ log, response }: Uploading, error: unknown): NotRecorded {
  log('till sync: element of an upload failed', error, response.locals.requestId)
  return { refused: 'internal_error' }
}

const linesOf = ({ input }: Invocation): number => (input as { items?: readonly unknown[] }).items?.length ?? 1

/** Most uploads are one portion and one commit. A command that looks rows up is a request by itself. */
function* portionsOf(invocations: readonly Invocation[]): Iterable<Invocation[]> {
  let portion: Invocation[] = []
  let lines = 0
  for (const invocation of invocations) {
    const isAlone = invocation.command.lookup !== undefined
    if (portion.length > 0 && (isAlone || lines >= PORTION_LINES)) {
      yield portion
      portion = []
      lines = 0
    }
    if (isAlone) {
      yield [invocation]
      continue
    }
    portion.push(invocation)
    lines += linesOf(invocation)
  }
  if (portion.length > 0) yield portion
}

/** Runs a portion; one with a fault is halved until the element that causes it is alone. */
async function runPortion(uploading: Uploading, portion: readonly Invocation[]): Promise<readonly ElementResult[]> {
  const { writer, session, response } = uploading
  // The till has disconnected and will send the rest again.
  if (response.closed) throw new Unavailable('upload: the till has disconnected; it will send the rest again')
  const lines = portion.reduce((sum, each) => sum + linesOf(each), 0)
  try {
    const weight = Math.ceil(lines / LINES_OF_A_COMMAND)
    const results = await runList(writer, uploaderOf(session, response), portion, { weight })
    if (isRefusal(results)) throw new Problem(results.refused, results.details)
    return results
  } catch (error) {
    if (error instanceof Problem || !isFaultOfRequest(error)) throw error
    if (portion.length === 1) return [fault(uploading, error)]
    const middle = Math.ceil(portion.length / 2)
    const first = await runPortion(uploading, portion.slice(0, middle))
    return [...first, ...(await runPortion(uploading, portion.slice(middle)))]
  }
}

/** Message of an element that met a fault of the service, which may be sent again later. */
export const FAULT_MESSAGE = 'Erro interno ao registrar. Envie de novo mais tarde.'

/** Invalid fields of a refused element. */
export const fieldsOf = ({ details }: NotRecorded): Record<string, string[]> =>
  (details?.fields as Record<string, string[]> | undefined) ?? {}
