"""Did this change move my model's accuracy, or is it the seed?"""
