import * as z from 'zod'
import { invalid } from '#domain/refusal.ts'
import { type Checkpoint, parseCheckpoint, parseOrigin } from '#integrity/proofs/checkpoint.ts'
import { openNote, verifierKey } from '#integrity/proofs/note.ts'
import { Refused } from './verb.ts'

/** A checkpoint of a company's ledger with a verified signature. */
export interface GivenCheckpoint extends Checkpoint {
  readonly company_id: number
}

const Line = z.object({ note: z.string() })

/**
 * Reads checkpoints of ledgers from a file: one note, or JSON Lines of many. Each must be signed by one of the keys.
 * @throws Refused
 */
export function readCheckpoints(text: string, publicKeys: readonly string[]): GivenCheckpoint[] {
  const notes = text.startsWith('{') ? notesOf(text) : [text]
  return notes.flatMap((note, place) => {
    const origin = note.slice(0, note.indexOf('\n'))
    const parsedOrigin = parseOrigin(origin)
    if (!parsedOrigin) throw invalidCheckpoint(`não há um checkpoint na linha ${place + 1} do arquivo`)
    const keys = publicKeys.map((key) => verifierKey(origin, key))
    const checkpoint = parseCheckpoint(openNote(note, keys)?.text ?? '')
    if (!checkpoint) throw invalidCheckpoint(`checkpoint ${origin}: a assinatura não confere com nenhuma das chaves`)
    // A checkpoint of the installation log contains nothing about a single ledger.
    if (parsedOrigin.companyId === null) return []
    return { ...checkpoint, company_id: parsedOrigin.companyId }
  })
}

function notesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, place) => {
      const parsed = Line.safeParse(parse(line))
      if (!parsed.success) throw invalidCheckpoint(`não há um checkpoint na linha ${place + 1} do arquivo`)
      return parsed.data.note
    })
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

const invalidCheckpoint = (reason: string): Refused => new Refused(invalid('checkpoint', reason))
