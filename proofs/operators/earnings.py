"""Somebody who invited somebody who paid: quota, a top-up, rewards, cash, and a withdrawal that is asked for."""

from proofs.rig.console.place import Place
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.office.desks import Office

GIFT_CODE = "select gift_code from account where id = $1"
INVITED = "select accept_invitation($1, $2, 'proof')"
LONG_AGO = """
update reward set granted_at = granted_at - interval '1 year', available_at = granted_at - interval '1 year'
where account_id = $1 returning id
"""
ASK = "insert into withdrawal (account_id, usd_micros, payee) values ($1, 100000, 'Bank of Ada') returning id"
CASH = "select id from reward where account_id = $1 and kind = 'referral_cash'"
LOT = "select min(id) from lot where account_id = $1 and source = 'operator'"


def an_earner(place: Place) -> dict[str, int]:
    """By what paths call them: the friend's account with its lot and top-up, the inviter's reward and withdrawal."""
    inviter = place.a_person(usd=0, name="Iva")
    friend = place.a_person(usd=10, name="Finn")
    gift_code = place.value(GIFT_CODE, inviter.account_id)
    assert place.value(INVITED, friend.account_id, gift_code)
    [code] = place.codes(1, 100)

    async def pay(desk: Office) -> int:
        given = RedeemWish(account_id=friend.account_id, code=code, gift_code=gift_code, ip=None)
        return (await redeem(given, desk.referral_terms, desk.redemptions, actor="proof")).top_up.id

    top_up = place.operate(pay)
    place.rows(LONG_AGO, inviter.account_id)
    return {
        "account": friend.account_id,
        "lot": place.value(LOT, friend.account_id),
        "top_up": top_up,
        "reward": place.value(CASH, inviter.account_id),
        "withdrawal": place.value(ASK, inviter.account_id),
    }
