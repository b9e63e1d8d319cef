"""Modules of the chapter *Multi-GPU training, concisely and at scale*.

=============  =======================================================================
``ladder``     one training script in five files, each a few lines from the one before
``observe``    when a script's processes do what, without a word about it in the script
=============  =======================================================================
"""
