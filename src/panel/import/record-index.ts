import { type MatchingRecord, type MatchRequest, RECORDS_PER_KEY } from '#queries/import-matches.ts'
import type { KeyField, LineKeys, ReadLine } from './read-line.ts'

/**
 * Values by field that find the records of all lines. For a key that is not unique it includes the names of the lines,
 * which distinguish records that share the key.
 */
export function createMatchRequest(keyFields: readonly KeyField[]) {
  const names = keyFields.flatMap(({ name, isUnique }) => (isUnique ? [name] : [name, `${name}_name`]))
  const values: Record<string, string[]> = Object.fromEntries(names.map((name) => [name, []]))
  const nameField = keyFields.at(-1)?.name
  return {
    values: values as MatchRequest,
    add({ keys }: ReadLine): void {
      const ownName = keys.find(([field]) => field === nameField)?.[1] ?? ''
      for (const [name, value] of keys) {
        const field = keyFields.find((one) => one.name === name)
        if (field?.isLast && keys.length > 1) continue
        values[name]?.push(value)
        values[`${name}_name`]?.push(ownName)
      }
    },
  }
}

/** Index of records by key. */
export interface RecordIndex {
  add(record: MatchingRecord): void
  /**
   * Records with a key, at most RECORDS_PER_KEY for each combination of the more specific keys that they have; `name`
   * limits them to those with this last key.
   */
  of(key: LineKeys[number], name?: string): readonly MatchingRecord[]
}

export function createRecordIndex(keyFields: readonly KeyField[]): RecordIndex {
  const holders = new Map<string, MatchingRecord[]>()
  const nameField = keyFields.at(-1)
  const has = ({ keys }: MatchingRecord, { name }: KeyField): boolean => (keys[name] ?? null) !== null

  function addTo(key: string, record: MatchingRecord, moreTelling: readonly KeyField[]): void {
    const known = holders.get(key)
    if (!known) return void holders.set(key, [record])
    const alike = known.filter((one) => moreTelling.every((field) => has(one, field) === has(record, field)))
    if (alike.length < RECORDS_PER_KEY) known.push(record)
  }

  return {
    add(record) {
      const ownName = nameField && record.keys[nameField.name]
      for (const [at, { name, isUnique }] of keyFields.entries()) {
        const value = record.keys[name] ?? null
        if (value === null || (record.is_deleted && name !== EXTERNAL_ID)) continue
        addTo(joinKey(name, value), record, keyFields.slice(0, at))
        if (!isUnique && ownName) addTo(joinKey(name, value, ownName), record, [])
      }
    },
    of: ([field, value], name) => holders.get(joinKey(field, value, ...(name === undefined ? [] : [name]))) ?? [],
  }
}

export const EXTERNAL_ID = 'external_id'

export const joinKey = (...parts: readonly string[]): string => parts.join('\0')
