import type { Pool } from 'pg'
import type { ComponentChildren } from 'preact'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { QuotaLimits } from '#access/quota.ts'
import type { PanelAccess, PanelSession } from '#access/sessions.ts'
import type { AsOfCore, Moment } from '#audit/as-of.ts'
import type { Verifier } from '#audit/verify.ts'
import type { Calendar } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { InputDependencies } from '#http/dependencies.ts'
import type { LogFailure } from '#http/middleware/failures.ts'
import type { Params } from '#http/paths.ts'
import type { Command } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { MemoryBudget } from '#lib/memory-budget.ts'
import type { CompanyNews } from '#live/follow-companies.ts'
import type { DeliveryNotifier } from '#webhooks/notifier.ts'
import type { FormBody } from './forms/form.ts'
import type { FlashCode } from './words/flashes.ts'

/** What pages work with: the read model of now and of the past, the writer, and who may come in. */
export interface PanelContext extends AsOfCore {
  readonly writer: Writer
  readonly verifier: Verifier
  readonly deliveryNotifier: DeliveryNotifier
  readonly limits: QuotaLimits
  readonly addresses: AddressLimit
  /** Room for the bodies of forms. */
  readonly bodies: MemoryBudget
  readonly dependencies: InputDependencies
  readonly publicUrl: string
  readonly newId: () => string
  readonly panel: PanelAccess
  /** What is committed meanwhile, in whatever process. */
  readonly news: CompanyNews
  readonly log: LogFailure
}

/** Who may see a page or press its buttons: everybody who is logged in, or owners only. */
export type Access = 'everyone' | 'owner'

/** The entry of the menu that a page belongs to. */
export type Section =
  | 'start'
  | 'sales'
  | 'catalog'
  | 'customers'
  | 'suppliers'
  | 'receivables'
  | 'payables'
  | 'tills'
  | 'store'
  | 'integrations'
  | 'audit'
  | 'settings'
  | 'account'

/** The company's read model: as it is now, or as it was at a moment of the past. */
export interface Books extends Calendar {
  readonly companyId: number
  readonly pool: Pool
  readonly moment: PastMoment | null
}

/** What "como era em" shows. */
export interface PastMoment {
  /** As the address bar has it. */
  readonly asked: string
  readonly at: Moment
  /** The last event of then. */
  readonly revision: number
}

/** A page that somebody looks at. */
export interface Visit {
  readonly context: PanelContext
  readonly session: PanelSession
  readonly books: Books
  readonly params: Params
  /** Of the address; a name that is given twice counts once. */
  readonly query: Readonly<Record<string, string>>
  /** Path below the panel, without the query: `/vendas/9`. */
  readonly path: string
  /** What was done just before, to be told. */
  readonly flash: FlashCode | null
}

/** A form that somebody has sent. */
export interface Submission extends Visit {
  readonly form: FormBody
  /** The answer is not to be sent twice: what a form does is done once, however often its button is pressed. */
  run<I>(command: Command<I>, input: I): Promise<Answer | Refusal>
  readonly requestId: string
  /** Where it comes from: an IP address. */
  readonly address: string
  /** What each thing that it does is recognised by, for what is no command. */
  idempotency(): { readonly key: string; readonly requestHash: string }
}

export interface Page {
  readonly title: string
  readonly body: ComponentChildren
  /** 200 by default; 422 or 409 for a form that has to be corrected. */
  readonly status?: number
}

/** Where to go on after something was done, and what to tell there. */
export interface Redirect {
  readonly to: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly flash?: FlashCode
}

interface Common {
  /** Below the panel, in the router's form: `/clientes/:id`. */
  readonly path: string
  readonly section: Section
  readonly access?: Access
}

/** Shows something. Null is a record that does not exist, or is another company's: 404 either way. */
export interface PageRoute extends Common {
  /** Whether it can also be shown as it was at a moment of the past (`?em=`): it reads from `books` only. */
  readonly asOf?: true
  show(visit: Visit): Promise<Page | Redirect | null>
}

/** Does something, then goes elsewhere, or shows the form again with what has to be corrected. */
export interface FormRoute extends Common {
  submit(submission: Submission): Promise<Page | Redirect | null>
}

export type PanelRoute = PageRoute | FormRoute
