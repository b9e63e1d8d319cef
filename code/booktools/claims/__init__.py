"""Claims: what the book says of records, judged for every machine.

``claims``      claims, outcomes and bounds as predicates over records
``outcomes``    text that follows the outcome of a claim
``limits``      the predicates as registered, and the former ones
``rivals``      whether a record tells a claim from what it excludes
``predictions`` what pages predict before they measure it
"""
