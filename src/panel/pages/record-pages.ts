import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import { pathId } from '#http/paths.ts'
import type { Command } from '#ledger/command.ts'
import type { Found } from '#queries/records.ts'
import type { Fields } from '../forms/form.ts'
import type { Section, Visit } from '../route.ts'
import type { AskList } from '../ui/list.tsx'
import type { Column } from '../ui/table.tsx'
import type { NoticeCode } from '../words/notices.ts'

/** Records that people keep in the panel: a list with filters, a page each, forms to create and change, and a question before deleting. */
export interface RecordPages<R extends { id: number }> {
  /** `/clientes` */
  readonly path: string
  readonly section: Section
  /** As events call it: `customer`. */
  readonly subject: string
  readonly words: {
    readonly all: string
    /** On the button and the page that creates one. */
    readonly create: string
    readonly none: string
  }
  readonly list: {
    readonly filters: Fields | ((visit: Visit) => Promise<Fields>)
    readonly columns: readonly Column<R>[] | ((visit: Visit) => readonly Column<R>[])
    /** The page of a list that the address asks for. */
    page(visit: Visit, filters: Readonly<Record<string, string>>): ReturnType<AskList>
    /** Where else one can go from here. */
    actions?(visit: Visit): ComponentChildren
  }
  get(visit: Visit, id: number): Promise<Found>
  nameOf(record: R): string
  facts(record: R, visit: Visit): readonly (readonly [name: string, value: ComponentChildren])[]
  /** What else its page shows and offers. */
  more?(record: R, visit: Visit): ComponentChildren | Promise<ComponentChildren>
  actions?(record: R, visit: Visit): ComponentChildren
  /** Whether it may be changed and deleted here; always by default. */
  isOpen?(record: R): boolean
  fields(visit: Visit, record?: R): Fields | Promise<Fields>
  // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that the pages need not know
  readonly create: { readonly schema: z.ZodType<any>; readonly command: Command<any> }
  /** Without it, records stay as they were created. */
  readonly update?: {
    /** On the button and the page that changes one. */
    readonly label: string
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly schema: z.ZodType<any>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly command: Command<{ id: number; changes: any }>
  }
  /** Without it, records stay. */
  readonly remove?: {
    /** On the button that asks, the question itself, and what is told afterwards. */
    readonly label: string
    readonly question: string
    readonly notice?: NoticeCode
    readonly command: Command<{ id: number }>
  }
}

/** The record that the path names; null where there is none. */
export async function recordOf<R>(
  visit: Visit,
  get: (visit: Visit, id: number) => Promise<Found | null>,
): Promise<R | null> {
  const id = pathId(visit.params.id)
  const found = id === null ? null : await get(visit, id)
  return found?.record ? (JSON.parse(found.record) as R) : null
}
