import type { Journal } from './journal.ts'
import { NotDurable, type Recorder, type Recording, type StorageValues } from './recorder.ts'
import type { Body, Recorded } from './records.ts'
import type { Screen, Store, TillState } from './state.ts'
import type { Drawer, Storage } from './stored.ts'
import type { Sync } from './sync.ts'

/** The parts of a till that what happens at it is made of. */
export interface Till {
  readonly store: Store
  readonly storage: Storage
  readonly journal: Journal
  readonly sync: Sync
  /** Milliseconds since 1970, by this device. */
  now(): number
  /** Set when the device has its number. */
  readonly chain: { recorder: Recorder | null; key: CryptoKeyPair | null }
}

export const newId = (): string => crypto.randomUUID()
/** Shorter: a sale's identifier is two of them, and stands in the code on its receipt. */
export const newCartId = (): string => newId().replaceAll('-', '').slice(0, 16)

export const instant = (till: Till): string => new Date(till.now()).toISOString()

export const show = ({ store }: Till, screen: Screen): void =>
  store.set({ screen, message: '', isAlarm: false, unknownCode: '' })
export const say = ({ store }: Till, message: string, isAlarm = false): void => store.set({ message, isAlarm })

/** Saves what may be made again; a failure is told, not thrown. */
export function save(till: Till, values: StorageValues): void {
  till.storage.set(values).catch(() => say(till, 'O navegador não está gravando. Libere espaço neste aparelho.', true))
}

export const recordingOf = (
  kind: Recording['kind'],
  body: Body,
  names: readonly string[] = [],
  customer = '',
): Recording => ({ kind, body, names, customer })

/** The drawer that the operator moves: one of the panel is its owner's only. */
export const drawerOf = ({ drawer, current }: Pick<TillState, 'drawer' | 'current'>): Drawer | null =>
  drawer?.ownerId === undefined || drawer.ownerId === current?.userId ? drawer : null

/** What every element carries of the moment. */
export function moment(till: Till) {
  const { clockOffsetMs } = till.store.get()
  const drawer = drawerOf(till.store.get())
  return { clock_offset_ms: clockOffsetMs, ...(drawer && { cash_session_id: drawer.sessionId }) }
}

/** Records in both copies; null after saying why that could not be. */
export async function record(
  till: Till,
  recordings: readonly Recording[],
  values?: StorageValues,
): Promise<Recorded[] | null> {
  const { recorder } = till.chain
  const { current } = till.store.get()
  if (!recorder || !current) return null
  try {
    const recorded = await recorder.record(recordings, current.userId, values)
    till.store.set({ records: recorder.records, missingCopy: recorder.missingCopy })
    till.sync.wake()
    return recorded
  } catch (error) {
    if (!(error instanceof NotDurable)) throw error
    say(till, 'Não foi possível gravar neste aparelho. Nada foi registrado: libere espaço e tente de novo.', true)
    return null
  }
}
