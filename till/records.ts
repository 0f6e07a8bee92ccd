import type { TillLink } from './chain.ts'

/** Forms of payment and the company as `/api/sync/config` gives them. */
export interface TillConfig {
  readonly company: {
    readonly id: number
    readonly name: string
    readonly cnpj: string
    readonly pix_key?: string | null
    readonly pix_city?: string | null
    /** That a voucher is valid for. */
    readonly voucher_days?: number
  }
  readonly payment_types: readonly PaymentType[]
  readonly user: { readonly id: number; readonly name: string; readonly role: 'owner' | 'manager' | 'clerk' }
  /** The person's open drawer, as of the panel. */
  readonly drawer?: { readonly session_id: string; readonly opened_at: string } | null
}

export interface PaymentType {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly is_cash: boolean
  readonly due_days: number
}

export interface Product {
  /** 0 until the service has given one. */
  readonly id: number
  /** Of a product made at this till. */
  readonly offlineId: string | null
  readonly name: string
  readonly barcode: string
  readonly sku: string
  readonly unit: string
  /** Cents. */
  readonly price: number
  /** Name without accents, in lower case, which searches read. */
  readonly folded: string
}

export interface Customer {
  readonly id: number
  readonly offlineId: string | null
  readonly name: string
  readonly document: string
  /** Store credit in cents. */
  readonly credit: number
}

export interface SaleItem {
  readonly product_id?: number
  readonly offline_item_id?: string
  /** Of an item without an id: what the service calls the line if the item never arrives. */
  readonly name?: string
  readonly quantity: number
  readonly price: number
  readonly total: number
}

export interface SalePayment {
  readonly payment_type_id: number
  readonly amount: number
  readonly status: 'completed' | 'pending'
  readonly voucher?: string
}

/** A sale as it is uploaded, before its link. */
export interface SaleBody {
  readonly offline_id: string
  readonly status: 'completed' | 'cancelled'
  readonly created_at: string
  readonly items: readonly SaleItem[]
  readonly payments: readonly SalePayment[]
  readonly total: number
  readonly amount_received: number
  readonly change: number
  readonly customer_id?: number
  readonly offline_customer_id?: string
  readonly cash_session_id?: string
  readonly cancelled_at?: string
  /** What the service's clock was ahead of this one when both were last compared. */
  readonly clock_offset_ms: number
}

export interface ReturnBody {
  readonly offline_id: string
  readonly sale_offline_id: string
  readonly reason: string
  readonly returned_at: string
  readonly items: readonly { readonly line: number; readonly quantity: number; readonly restock: boolean }[]
  readonly refunds: readonly {
    readonly payment_type_id: number
    readonly amount: number
    readonly voucher?: string
    /** Its last day, as it is printed. */
    readonly voucher_until?: string
  }[]
  readonly customer_id?: number
  readonly offline_customer_id?: string
  readonly cash_session_id?: string
  readonly clock_offset_ms: number
}

export interface MovementBody {
  readonly offline_id: string
  readonly session_id: string
  readonly kind: 'opened' | 'in' | 'out' | 'closed'
  readonly amount: number | null
  readonly at: string
  readonly reason?: string
  readonly counted?: { readonly cash: number }
  readonly clock_offset_ms: number
}

export type SaleElement = SaleBody & { readonly till: TillLink }

/** Lists of the uploads: each has a route of its own. */
export type RecordKind = 'sales' | 'returns' | 'cash'
export type Body = SaleBody | ReturnBody | MovementBody

/** What the till has recorded, until and after the service has it. */
export interface Recorded<T = Body & { readonly till: TillLink }> {
  /** Till and number, as a text that sorts: numbers begin anew with a new till. */
  readonly key: string
  readonly kind: RecordKind
  readonly element: T
  readonly hash: string
  readonly userId: number
  /** Printed names of the lines; empty for movements. */
  readonly names: readonly string[]
  /** Printed name of the customer; never part of a code. */
  readonly customer: string
  readonly state: 'waiting' | 'sent' | 'refused'
  /** What the service said to a refused one. */
  readonly note: string
}

export const recordKey = ({ id, number }: Pick<TillLink, 'id' | 'number'>): string =>
  `${String(id).padStart(10, '0')}/${String(number).padStart(10, '0')}`

export const isSale = (record: Recorded): record is Recorded<SaleElement> & Recorded => record.kind === 'sales'
