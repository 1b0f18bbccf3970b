"""Operations in terms of simpler operations, for the formats that do not have them."""
