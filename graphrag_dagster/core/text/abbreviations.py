"""Words that end in a full stop without ending a sentence (English)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Stand before a name: the sentence goes on.
TITLES = _words(
    """
    mr mrs ms mx dr prof rev fr sr st ste hon gen col maj capt lt sgt cpl cmdr cdr adm gov sen rep pres
    supt insp det messrs mme mlle m mgr msgr amb atty asst assoc dept mt ft
    """
)
#: Stand before a number: the sentence goes on only if one follows.
BEFORE_NUMBERS = _words(
    """
    no nos nr vol vols fig figs sec secs ch chap art arts p pp para paras eq eqs ref refs tab app ed eds
    pt pts col cols lot ll jan feb mar apr jun jul aug sep sept oct nov dec cl reg regs sch ver
    """
)
#: Stand before more of the same sentence.
INSIDE = _words(
    """
    e.g eg i.e ie viz cf vs v ca c approx incl excl esp resp namely a.k.a aka al
    """
)
#: May stand at the end as well as inside: a sentence ends if a word that begins sentences follows.
EITHER = _words(
    """
    inc ltd co corp bros plc llc jr sr esq etc st ave rd blvd dept univ est ext tel govt intl natl assn
    mon tue tues wed thu thur thurs fri sat sun ph.d phd m.d md b.a ba m.a ma b.sc m.sc bsc msc d.phil
    a.m p.m am pm a.d b.c ad bc hrs min mins sec secs km kg cm mm lb lbs oz ft in yd mi
    """
)
#: Words that often begin a sentence and are seldom part of a name.
STARTERS = _words(
    """
    a about after all also although among an and another any are as asked at because before both but by
    can could despite did do does during each either even every everyone few first for from further had
    has have he hence her here his how however i if in indeed instead is it its just last later like
    many maybe meanwhile more moreover most much my neither never nevertheless next no nobody none nor
    not nothing now of often on once one only or other others our over perhaps rather she should since
    so some somebody someone sometimes soon still such than that the their them then there therefore
    these they this those though through thus to today together tomorrow too two under unless until upon
    was we were what whatever when whenever where whether which while who whoever whose why will with
    within without would yes yesterday yet you your
    """
)
