import type { ComponentChildren } from 'preact'
import type { IssuedSession, PanelSession } from '#access/sessions.ts'
import type { Calendar } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import type { Params } from '#http/paths.ts'
import type { AsOfMoment } from '#integrity/as-of.ts'
import type { Command } from '#ledger/command.ts'
import type { Answer, DryRun } from '#ledger/write/idempotency.ts'
import type { Actor } from '#ledger/write/run.ts'
import type { Reader } from '#queries/reader.ts'
import type { Services } from '#services.ts'
import type { FormBody } from './forms/panel-form.ts'
import type { FlashCode } from './words/message-words.ts'

/** Permissions that a page or form needs, all of them. */
export type PageAccess = 'everyone' | Permission | readonly Permission[]

/** Whether the user may open an address below the panel, or submit a form there. */
export type RouteReach = (method: 'GET' | 'POST', path: string) => boolean

/** Menu section of a page; the profile and the search have none. */
export type Section =
  | 'start'
  | 'sales'
  | 'catalog'
  | 'customers'
  | 'suppliers'
  | 'receivables'
  | 'payables'
  | 'month'
  | 'tills'
  | 'store'
  | 'integrations'
  | 'audit'
  | 'settings'
  | 'profile'
  | 'search'

/** The company's read model, at present or at a past moment. */
export interface PageReadModel extends Calendar {
  readonly companyId: number
  readonly reader: Reader
  readonly moment: PastMoment | null
}

/** The moment in `?em=`. */
interface PastMoment {
  /** As in the address. */
  readonly asked: string
  readonly at: AsOfMoment
  /** Last revision at that moment. */
  readonly revision: number
}

/** What the panel is given. */
export type PanelServices = Pick<
  Services,
  | 'reads'
  | 'writer'
  | 'proofs'
  | 'installation'
  | 'access'
  | 'payments'
  | 'webhooks'
  | 'live'
  | 'environment'
  | 'limits'
  | 'traffic'
  | 'log'
>

/** Context of a page request: session, parameters and read model. */
export interface PageContext {
  readonly context: PanelServices
  readonly session: PanelSession
  readonly readModel: PageReadModel
  /** The company's tables at present, on the primary: for what is not in the ledger. Sees what the role sees. */
  readonly primary: Reader
  readonly params: Params
  /** Query parameters; of a repeated name only one value counts. */
  readonly query: Readonly<Record<string, string>>
  /** Path below the panel, without the query: `/vendas/9`. */
  readonly path: string
  /** Result of the previous action. */
  readonly flash: FlashCode | null
  /** Addresses that the user may open: other buttons are hidden. */
  readonly reaches: RouteReach
}

/** The context of a request with a form. */
export interface FormSubmission extends PageContext {
  readonly form: FormBody
  /** Runs a command once, even if the form is submitted again. */
  run<I>(command: Command<I>, input: I): Promise<Answer | Refusal>
  readonly requestId: string
  /** The user, while the session is live. */
  readonly acting: Actor
  /** Client IP address. */
  readonly address: string
  /** The same submission, approved on the spot by another user of the company. */
  approvedBy(userId: number): FormSubmission
  /** Uploaded file, if the form accepts one. */
  readonly file: Buffer | null
  /** Next idempotency key of this form, for actions without a command. */
  idempotency(): { readonly key: string; readonly requestHash: string }
  /** Whether the same form was sent before, and its first command recorded. */
  isRepeated(): Promise<boolean>
  /** The same submission as a dry run; `told` gets what its commands would do. */
  tried(told: DryRun[]): FormSubmission
  /** Notes what an answer without `run` tells of a dry run. */
  note(answer: Answer): Answer
}

/** A link, a form of one button (with `values`), or a print button. Hidden if the user may not open it. */
export interface PageAction {
  readonly label: string
  /** Below the panel. */
  readonly to: string
  readonly parameters?: Readonly<Record<string, string | number | null | undefined>>
  /** Submitted directly, with these fields. */
  readonly values?: Readonly<Record<string, string>>
  /** Prints the page; requires scripts. */
  readonly prints?: true
}

export interface PanelPage {
  readonly title: string
  readonly body: ComponentChildren
  /** Breadcrumb above the title: the list of a record, or the record of a form. */
  readonly parent?: { readonly label: string; readonly to: string }
  /** Below the title: the state of a record, its owner, its date. */
  readonly lead?: ComponentChildren
  /** Main action, other actions, and dangerous ones. */
  readonly main?: PageAction | null | false
  readonly more?: readonly (PageAction | null | false)[]
  readonly dangers?: readonly (PageAction | null | false)[]
  /** Other site that the page shows an image of: the company's logo. */
  readonly imageOrigin?: string | null
  /** 200 by default; 422 or 409 for a refused form. */
  readonly status?: number
}

/** Next page, below the panel, and its flash message. */
export interface Redirect {
  readonly to: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly flash?: FlashCode
  /** New session of the browser. */
  readonly issued?: IssuedSession
}

interface Common {
  /** Path pattern of Express below the panel: `/clientes/:id`. */
  readonly path: string
  readonly section: Section
  readonly access?: PageAccess
  /** Whether it makes a change; by default forms do, and pages do not. */
  readonly changes?: boolean
}

/** Null for a record that does not exist or belongs to another company: 404 in both cases. */
export interface PageRoute extends Common {
  /** Whether the page supports `?em=`: it must read from `readModel` only. */
  readonly asOf?: true
  /**
   * Whether a replica may serve the page: everything it reads from `readModel` and `context.reads.store` is in the ledger.
   * Pages of the past always may be.
   */
  readonly fromReplica?: true
  /** Whether another site may send the browser to it although its path names no record. */
  readonly openToLinks?: true
  show(visit: PageContext): Promise<PanelPage | Redirect | null>
}

/** Redirects after success, or shows the refused form again. */
export interface FormRoute extends Common {
  /** Whether the form accepts a file. */
  readonly takesFile?: true
  /** Of its file; those of a spreadsheet by default. */
  readonly maxFileBytes?: number
  submit(submission: FormSubmission): Promise<PanelPage | Redirect | null>
  /** Shows a submitted form without executing it, after the user had to log in again. */
  refill?(submission: FormSubmission): Promise<PanelPage | null>
}

/** Cell of a file: a text, a number, a decimal of any size as a text, or a day (`2026-11-29`) with or without a local time. */
export type Cell = string | number | null | undefined | { readonly decimal: string } | { readonly local: string }

export interface TableOf {
  readonly heads: readonly string[]
  readonly rows: AsyncIterable<readonly Cell[]>
}

/** A file of records, line by line; invalid filters are refused. */
export interface TableRoute extends Common {
  readonly asOf?: true
  table(visit: PageContext): Promise<TableOf | Refusal>
}

export type PanelRoute = PageRoute | FormRoute | TableRoute
