import * as z from 'zod'
import { forgotten, invalid, type Refusal } from '#domain/refusal.ts'
import { Id, nameText } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { userById } from '#projections/users.ts'

type Seller = NonNullable<DataOf<'SaleCompleted'>['seller']>

/** Who sold: a user of the company, or a name (SALE-25). */
export const SellerInput = z
  .strictObject({ user_id: Id.nullish(), name: nameText(120).nullish() })
  .superRefine(({ user_id, name }, context) => {
    const isOne = (typeof user_id === 'number') !== (typeof name === 'string')
    if (!isOne) context.addIssue({ code: 'custom', message: 'informe exatamente um entre user_id e name' })
  })
  .meta({ id: 'SellerInput' })
type SellerInput = z.infer<typeof SellerInput>

export const sellerRefs = (seller: SellerInput | null | undefined): AnyRef[] =>
  typeof seller?.user_id === 'number' ? [userById(seller.user_id)] : []

/** The seller in the input, with the user's name; null if absent. */
export function findSeller(rows: Rows, input: SellerInput | null | undefined): Seller | null | Refusal {
  if (!input) return null
  if (typeof input.user_id !== 'number') return { user_id: null, name: input.name ?? null }
  const seller = userSeller(rows, input.user_id)
  if (!seller) return invalid('seller.user_id', 'usuário não encontrado')
  return seller.name === null ? forgotten(`user/${input.user_id}`) : seller
}

/** A user as a seller; null if there is no such user. */
export function userSeller(rows: Rows, userId: number): Seller | null {
  const user = rows.get(userById(userId))
  return user && { user_id: user.id, name: user.doc.name }
}
