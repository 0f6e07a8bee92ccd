import type { ValueLists } from '#api/contract/lists.ts'

/** Lists of values of the tills' contract. */
export const TILL_LISTS: ValueLists = {
  names: {
    CardBrand: 'OfflineCard.brand',
    CashMovementKind: 'CashMovement.kind',
    ConflictReason: 'Conflict.reason',
    NotificationStatus: 'NotificationAnswer.status',
    OfflinePaymentStatus: 'OfflinePayment.status',
    OfflineSaleStatus: 'OfflineSale.status',
    PaymentKind: 'TillPaymentType.kind',
    RetentionNeedKind: 'RetentionNeed.kind',
    ResultStatus: 'CashResult.status',
    ReturnResultStatus: 'ReturnResult.status',
    SaleResultStatus: 'SaleResult.status',
    TillRole: 'TillConfigUser.role',
  },
  growing: ['CashWarning.code', 'ErrorDetails.missing_scope', 'ReturnWarning.code', 'SaleWarning.code'],
}
