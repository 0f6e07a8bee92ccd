import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { send } from '../calls.ts'
import type { Company } from '../companies.ts'
import { Tally } from '../day/tally.ts'
import { callOf, KINDS, type Kind, kindsInOrder } from './mix.ts'

export type Tallies = Readonly<Record<Kind, Tally>>

/** Results at a steady rate. */
export interface Heard {
  readonly tallies: Tallies
  /** Responses per second until the last one. */
  readonly perSecond: number
}

const CONNECTIONS = 200
const ORDER = kindsInOrder()

let runs = 0

/** Sends requests at a fixed rate, regardless of responses. */
export async function sendMix(
  url: string,
  companies: readonly Company[],
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<Heard> {
  const tallies = Object.fromEntries(KINDS.map((kind) => [kind, new Tally()])) as unknown as Tallies
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const run = `${Date.now().toString(36)}-${++runs}`
  const answers: Promise<void>[] = []
  const began = performance.now()
  try {
    for (let number = 0; number < perSecond * seconds; number++) {
      const wait_ms = began + (number * 1_000) / perSecond - performance.now()
      if (wait_ms > 0.5) await pause(wait_ms)
      const kind = ORDER[number % ORDER.length] as Kind
      const call = callOf(kind, companies, number, run)
      const answer = send(url, call, agent).then(({ status, code, took_ms }) => {
        if (status === call.status) tallies[kind].answered(took_ms)
        else tallies[kind].refused(`${status} ${code}`)
      })
      answers.push(answer)
    }
    await Promise.all(answers)
    return { tallies, perSecond: answers.length / ((performance.now() - began) / 1_000) }
  } finally {
    await agent.destroy()
  }
}
