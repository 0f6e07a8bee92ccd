import type { Pool } from 'pg'
import type { ComponentChildren } from 'preact'
import type { QuotaLimits } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import type { IssuedSession, PanelAccess, PanelSession } from '#access/sessions.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Calendar } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { UnauthenticatedBodies } from '#http/middleware/json-body.ts'
import type { LogError } from '#http/middleware/problem-handler.ts'
import type { Params } from '#http/paths.ts'
import type { RequestLog } from '#http/request-log/request-log.ts'
import type { AsOfCore, AsOfMoment } from '#integrity/audit/as-of.ts'
import type { Verifier } from '#integrity/audit/verify.ts'
import type { InstallationCheck } from '#integrity/proofs/installation-watch.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'
import type { Prover } from '#integrity/proofs/prover.ts'
import type { Command } from '#ledger/command.ts'
import type { Actor } from '#ledger/write/run.ts'
import type { Answer } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import type { MemoryBudget } from '#lib/memory-budget.ts'
import type { LiveUpdates } from '#live/updates.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import type { DeliveryNotifier } from '#webhooks/notifier.ts'
import type { FormBody } from './forms/form.ts'
import type { FlashCode } from './words/flashes.ts'

/** The dependencies of the panel; `readsOf` a company is what its pages read on that show the ledger alone, `poolOf` the others. From `AsOfCore`: the read model of now, and the ledger that the past is replayed from. */
export interface PanelContext extends AsOfCore {
  readonly poolOf: PoolOf
  /** Of the database that knows from where people log in. */
  readonly logins: () => Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
  readonly verifier: Verifier
  /** Whether anything can be recorded. */
  readonly standing: Pick<InstallationCheck, 'trouble' | 'isCopy'>
  readonly proof: ProofServices
  readonly prover: Prover
  readonly deliveryNotifier: DeliveryNotifier
  readonly calls: RequestLog
  /** Of keys. */
  readonly limits: QuotaLimits
  readonly panelLimits: PanelLimits
  /** Turns of pages and forms, by user. */
  readonly panelTurns: KeyedSemaphore
  readonly addresses: AddressLimit
  /** Room for the bodies of forms. */
  readonly bodies: MemoryBudget
  /** Room for the login's. */
  readonly strangers: UnauthenticatedBodies
  /** A signing secret that nobody has seen yet. */
  newSecret(): string
  /** Whether webhooks may call http and private addresses. */
  readonly allowPrivateTargets: boolean
  /** For how many years after its authorization a fiscal document needs a person. */
  readonly retentionYears: number
  /** Percent, of stores that owners open: with two decimals. */
  readonly storeCommission: string
  readonly publicUrl: string
  readonly newId: () => string
  readonly panel: PanelAccess
  /** Makes the ledger of a new company. @throws Unavailable */
  found(companyId: number): Promise<void>
  /** Hears what any process commits, for pages that follow. */
  readonly live: LiveUpdates
  readonly log: LogError
}

/** Everybody who is logged in; whoever is told what the company owes; whoever checks its books; or whoever sees all of it: owners and auditors. */
export type PageAccess = 'everyone' | 'payables' | 'books' | 'owner'

/** Whether somebody may go to an address below the panel, or send a form there. */
export type RouteReach = (method: 'GET' | 'POST', path: string) => boolean

/** The entry of the menu that a page belongs to; the profile and the search have none. */
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
  | 'profile'
  | 'search'

/** The company's read model, as it is now or as it was at a moment of the past. */
export interface PageReadModel extends Calendar {
  readonly companyId: number
  readonly pool: Pool
  readonly moment: PastMoment | null
}

/** The moment that `?em=` names. */
interface PastMoment {
  /** As the address has it. */
  readonly asked: string
  readonly at: AsOfMoment
  /** The last event of then. */
  readonly revision: number
}

/** The context of a request for a page: who asks, for what, and which read model answers. */
export interface PageContext {
  readonly context: PanelContext
  readonly session: PanelSession
  readonly readModel: PageReadModel
  readonly params: Params
  /** Of the address; a name that is given twice counts once. */
  readonly query: Readonly<Record<string, string>>
  /** Path below the panel, without the query: `/vendas/9`. */
  readonly path: string
  /** What was done on the page before. */
  readonly flash: FlashCode | null
  /** Where the user may go: buttons that lead elsewhere are not shown. */
  readonly reaches: RouteReach
}

/** The context of a request with a form. */
export interface FormSubmission extends PageContext {
  readonly form: FormBody
  /** Runs a command once, however often the form is sent. */
  run<I>(command: Command<I>, input: I): Promise<Answer | Refusal>
  readonly requestId: string
  /** The user, as long as the session is. */
  readonly acting: Actor
  /** IP address that it comes from. */
  readonly address: string
  /** That came with a form which takes one. */
  readonly file: Buffer | null
  /** The next idempotency key of this form, for what is done without a command. */
  idempotency(): { readonly key: string; readonly requestHash: string }
}

/** A link, or with `values` a form of one button, or what prints. Nothing for whoever may not go there. */
export interface PageAction {
  readonly label: string
  /** Below the panel. */
  readonly to: string
  readonly parameters?: Readonly<Record<string, string | number | null | undefined>>
  /** It is sent at once, with these fields. */
  readonly values?: Readonly<Record<string, string>>
  /** Prints the page, where scripts run. */
  readonly prints?: true
}

export interface PanelPage {
  readonly title: string
  readonly body: ComponentChildren
  /** Where it belongs, above the title: the list of a record, the record of a form. */
  readonly parent?: { readonly label: string; readonly to: string }
  /** Below the title: the state of a record, whose it is, since when. */
  readonly lead?: ComponentChildren
  /** What most come for, apart from what else can be done, apart from what is dangerous. */
  readonly main?: PageAction | null | false
  readonly more?: readonly (PageAction | null | false)[]
  readonly dangers?: readonly (PageAction | null | false)[]
  /** 200 by default; 422 or 409 for a form that has to be corrected. */
  readonly status?: number
}

/** The page to go on to, below the panel, and what to say there. */
export interface Redirect {
  readonly to: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly flash?: FlashCode
  /** The session that the browser goes on with. */
  readonly issued?: IssuedSession
}

interface Common {
  /** Below the panel, as Express writes it: `/clientes/:id`. */
  readonly path: string
  readonly section: Section
  readonly access?: PageAccess
  /** Whether it is there to change something; by default forms are, and pages are not (rights.ts). */
  readonly changes?: boolean
}

/** Null is a record that does not exist, or is another company's: 404 either way. */
export interface PageRoute extends Common {
  /** Whether it can also be shown as it was at a moment of the past (`?em=`): it reads from `readModel` only. */
  readonly asOf?: true
  /** Whether a standby may show it: all that is read from `readModel` and `context.store` is in the ledger. As of a moment always. */
  readonly fromStandby?: true
  show(visit: PageContext): Promise<PanelPage | Redirect | null>
}

/** Redirects after what was done, or shows the form again with what has to be corrected. */
export interface FormRoute extends Common {
  /** Whether a file may come with the form. */
  readonly takesFile?: true
  submit(submission: FormSubmission): Promise<PanelPage | Redirect | null>
  /** Shows the form as it was sent, and does nothing: somebody had to log in again meanwhile (PANEL-105). */
  refill?(submission: FormSubmission): Promise<PanelPage | null>
}

/** What a file has in a cell: a text, a number, or a decimal of any size as a text. */
export type Cell = string | number | null | undefined | { readonly decimal: string }

export interface TableOf {
  readonly heads: readonly string[]
  readonly rows: AsyncIterable<readonly Cell[]>
}

/** A file of records, line by line; filters that make no sense are refused. */
export interface TableRoute extends Common {
  readonly asOf?: true
  table(visit: PageContext): Promise<TableOf | Refusal>
}

export type PanelRoute = PageRoute | FormRoute | TableRoute
